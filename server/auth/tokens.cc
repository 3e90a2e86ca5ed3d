#include "server/auth/tokens.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::auth {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kTokenChars = 43;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool IsToken(std::string_view text) {
  return text.size() == kTokenChars &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
             "_") == std::string_view::npos;
}

// Absent if the file does not exist or cannot be trusted.
std::optional<std::string> ReadToken(const std::string& name) {
  File file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (file.fd() < 0 || fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return std::nullopt;
  }
  std::array<char, kTokenChars + 2> buffer;
  ssize_t size = read(file.fd(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  std::string token(buffer.data(), static_cast<size_t>(size));
  if (token.back() == '\n') token.pop_back();
  if (!IsToken(token)) return std::nullopt;
  return token;
}

absl::Status Failure(const std::string& name) {
  absl::StatusCode code = errno == EACCES || errno == EPERM || errno == EROFS
                              ? absl::StatusCode::kPermissionDenied
                              : absl::StatusCode::kUnavailable;
  return absl::Status(
      code, absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
}

// Writes a temporary file and renames it, so that readers see the whole token
// or none.
absl::Status WriteToken(const std::string& name, const std::string& token) {
  std::string temporary = absl::StrCat(name, ".", getpid());
  unlink(temporary.c_str());
  {
    File file(open(temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    std::string line = token + "\n";
    if (file.fd() < 0 || fchmod(file.fd(), 0600) != 0 ||
        write(file.fd(), line.data(), line.size()) !=
            static_cast<ssize_t>(line.size()) ||
        fsync(file.fd()) != 0) {
      return Failure(name);
    }
  }
  if (rename(temporary.c_str(), name.c_str()) != 0) return Failure(name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RandomToken() {
  std::array<char, kTokenBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the system provides no random data");
  }
  return absl::WebSafeBase64Escape(
      absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> LoadOrCreateToken(const std::string& file) {
  if (auto token = ReadToken(file)) return *token;
  ASSIGN_OR_RETURN(const std::string token, RandomToken());
  RETURN_IF_ERROR(WriteToken(file, token));
  return token;
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace graphdbg::auth
