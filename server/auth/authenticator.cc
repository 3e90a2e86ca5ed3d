#include "server/auth/authenticator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/auth/tokens.h"
#include "server/base/error.h"
#include "server/base/string_views.h"

namespace graphdbg::auth {
namespace {

constexpr size_t kMaxCodes = 64;

// The name of the scheme is case-insensitive (RFC 9110 section 11.1).
std::string_view BearerToken(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kScheme))) return {};
  return header.substr(kScheme.size());
}

}  // namespace

absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir) {
  Secrets secrets;
  ASSIGN_OR_RETURN(secrets.api_token, LoadOrCreateToken(data_dir + "/token"));
  ASSIGN_OR_RETURN(secrets.agent_token,
                   LoadOrCreateToken(data_dir + "/agent_token"));
  return secrets;
}

Authenticator::Authenticator(Secrets secrets, bool required)
    : secrets_(std::move(secrets)), required_(required) {}

absl::Status Authenticator::CheckApi(std::string_view token) const {
  if (!required_ || SameSecret(token, secrets_.api_token)) {
    return absl::OkStatus();
  }
  if (token.empty()) {
    return Error(absl::StatusCode::kUnauthenticated, "missing_token",
                 "authentication required: send 'Authorization: Bearer TOKEN'; "
                 "the token is stored in the file 'token' in the server's data "
                 "directory");
  }
  return Error(absl::StatusCode::kUnauthenticated, "invalid_token",
               "invalid token; the server's token is stored in the file "
               "'token' in its data directory");
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
                 "invalid agent token; set GRAPHDBG_TOKEN_FILE to a copy of "
                 "the file 'agent_token' in the server's data directory");
  }
  if (IsLoopbackPeer(peer)) return absl::OkStatus();
  return Error(absl::StatusCode::kUnauthenticated, "missing_token",
               "an agent on another machine needs a token; set "
               "GRAPHDBG_TOKEN_FILE to a copy of the file 'agent_token' in "
               "the server's data directory");
}

absl::StatusOr<std::string> Authenticator::IssueCode() {
  ASSIGN_OR_RETURN(const std::string code, RandomToken());
  absl::MutexLock lock(&mu_);
  // Expire the oldest unused code.
  if (codes_.size() == kMaxCodes) codes_.erase(codes_.begin());
  codes_.push_back(code);
  return code;
}

absl::StatusOr<std::string> Authenticator::Redeem(std::string_view code) {
  absl::MutexLock lock(&mu_);
  auto found = std::find_if(
      codes_.begin(), codes_.end(),
      [&](const std::string& known) { return SameSecret(known, code); });
  if (found == codes_.end()) {
    return Error(
        absl::StatusCode::kUnauthenticated, "invalid_code",
        "the code is invalid or has already been used; log in with the "
        "token from the file 'token' in the server's data directory");
  }
  codes_.erase(found);
  return secrets_.api_token;
}

}  // namespace graphdbg::auth
