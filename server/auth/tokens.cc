#include "server/auth/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <array>

#include "absl/strings/escaping.h"
#include "proto/wire/status_macros.h"
#include "server/auth/private_file.h"

namespace graphdbg::auth {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kTokenChars = 43;
constexpr size_t kIdBytes = 6;

bool IsToken(std::string_view text) {
  return text.size() == kTokenChars &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
             "_") == std::string_view::npos;
}

// UNAVAILABLE if the system provides no random data.
template <size_t size>
absl::StatusOr<std::array<char, size>> RandomBytes() {
  std::array<char, size> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the system provides no random data");
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> RandomToken() {
  ASSIGN_OR_RETURN(const auto bytes, RandomBytes<kTokenBytes>());
  return absl::WebSafeBase64Escape(
      absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> RandomId() {
  ASSIGN_OR_RETURN(const auto bytes, RandomBytes<kIdBytes>());
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> LoadOrCreateToken(const std::string& file) {
  absl::StatusOr<std::string> content = ReadPrivateFile(file, kTokenChars + 1);
  if (content.ok()) {
    if (!content->empty() && content->back() == '\n') content->pop_back();
    if (IsToken(*content)) return *content;
  }
  ASSIGN_OR_RETURN(const std::string token, RandomToken());
  RETURN_IF_ERROR(WritePrivateFile(file, token + "\n"));
  return token;
}

std::string HashOf(std::string_view secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
         digest.data());
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(digest.data()), digest.size()));
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace graphdbg::auth
