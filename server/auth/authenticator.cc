#include "server/auth/authenticator.h"

#include <algorithm>
#include <utility>

#include "server/auth/origin_policy.h"
#include "server/auth/tokens.h"
#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

constexpr size_t kMaxCodes = 64;

// The scheme's name is not case-sensitive (RFC 9110 section 11.1).
std::string_view BearerToken(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() < kScheme.size()) return {};
  for (size_t i = 0; i < kScheme.size(); ++i) {
    char c = header[i];
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != kScheme[i]) return {};
  }
  return header.substr(kScheme.size());
}

}  // namespace

absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir) {
  auto api = LoadOrCreateToken(data_dir + "/token");
  if (!api.ok()) return api.status();
  auto agent = LoadOrCreateToken(data_dir + "/agent_token");
  if (!agent.ok()) return agent.status();
  return Secrets{*std::move(api), *std::move(agent)};
}

Authenticator::Authenticator(Secrets secrets, bool required)
    : secrets_(std::move(secrets)), required_(required) {}

absl::Status Authenticator::CheckApi(std::string_view token) const {
  if (!required_ || SameSecret(token, secrets_.api_token)) {
    return absl::OkStatus();
  }
  if (token.empty()) {
    return Error(absl::StatusCode::kUnauthenticated, "missing_token",
                 "this needs 'Authorization: Bearer TOKEN'; the token is in "
                 "the file 'token' in the server's data directory");
  }
  return Error(absl::StatusCode::kUnauthenticated, "invalid_token",
               "the token is not this server's; it is in the file 'token' in "
               "the server's data directory");
}

absl::Status Authenticator::CheckAuthorization(std::string_view header) const {
  return CheckApi(BearerToken(header));
}

absl::Status Authenticator::CheckAgent(std::string_view token,
                                       std::string_view peer) const {
  if (!required_ || SameSecret(token, secrets_.agent_token) ||
      SameSecret(token, secrets_.api_token)) {
    return absl::OkStatus();
  }
  if (!token.empty()) {
    return Error(absl::StatusCode::kUnauthenticated, "invalid_token",
                 "the agent's token is not this server's; see "
                 "GRAPHDBG_TOKEN_FILE and the file 'agent_token' in the "
                 "server's data directory");
  }
  if (IsLoopbackPeer(peer)) return absl::OkStatus();
  return Error(absl::StatusCode::kUnauthenticated, "missing_token",
               "an agent from another machine needs a token; set "
               "GRAPHDBG_TOKEN_FILE to a copy of the file 'agent_token' in "
               "the server's data directory");
}

absl::StatusOr<std::string> Authenticator::IssueCode() {
  absl::StatusOr<std::string> code = RandomToken();
  if (!code.ok()) return code;
  std::lock_guard<std::mutex> lock(mu_);
  // Those that nobody used are forgotten, the oldest first.
  if (codes_.size() == kMaxCodes) codes_.erase(codes_.begin());
  codes_.push_back(*code);
  return code;
}

absl::StatusOr<std::string> Authenticator::Redeem(std::string_view code) {
  std::lock_guard<std::mutex> lock(mu_);
  auto found = std::find_if(
      codes_.begin(), codes_.end(),
      [&](const std::string& known) { return SameSecret(known, code); });
  if (found == codes_.end()) {
    return Error(absl::StatusCode::kUnauthenticated, "invalid_code",
                 "the code is not valid or was used before; log in with the "
                 "token from the file 'token' in the server's data directory");
  }
  codes_.erase(found);
  return secrets_.api_token;
}

}  // namespace graphdbg::auth
