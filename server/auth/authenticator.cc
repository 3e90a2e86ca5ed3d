#include "server/auth/authenticator.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/auth/tokens.h"
#include "server/base/error.h"
#include "server/base/string_views.h"

namespace graphdbg::auth {
namespace {

// The name of the scheme is case-insensitive (RFC 9110 section 11.1).
std::string_view BearerToken(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kScheme))) return {};
  return header.substr(kScheme.size());
}

Principal Owner() {
  Principal owner;
  owner.name = kOwner;
  owner.role = Role::kAdmin;
  return owner;
}

AuthOptions WithDefaults(AuthOptions options) {
  if (!options.now) options.now = absl::Now;
  if (!options.steady_now) options.steady_now = LoginCodes::Clock::now;
  if (!options.own_user) options.own_user = geteuid();
  return options;
}

absl::Status NeedsAgentToken(const std::string& who) {
  return Error(absl::StatusCode::kUnauthenticated, "missing_token",
               who +
                   " needs a token; set GRAPHDBG_TOKEN_FILE to a copy of the "
                   "file 'agent_token' in the server's data directory");
}

}  // namespace

absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir) {
  Secrets secrets;
  ASSIGN_OR_RETURN(secrets.api_token, LoadOrCreateToken(data_dir + "/token"));
  ASSIGN_OR_RETURN(secrets.agent_token,
                   LoadOrCreateToken(data_dir + "/agent_token"));
  return secrets;
}

Authenticator::Authenticator(Secrets secrets, AuthOptions options)
    : options_(WithDefaults(std::move(options))),
      api_hash_(HashOf(secrets.api_token)),
      agent_hash_(HashOf(secrets.agent_token)),
      credentials_(options_.credentials_file, secrets.api_token,
                   options_.now()) {}

bool Authenticator::IsOwner(std::string_view token) const {
  return SameSecret(HashOf(token), api_hash_);
}

absl::StatusOr<Principal> Authenticator::CheckApi(
    std::string_view token) const {
  if (!options_.required || IsOwner(token)) return Owner();
  if (token.empty()) {
    return Error(absl::StatusCode::kUnauthenticated, "missing_token",
                 "authentication required: send 'Authorization: Bearer TOKEN'; "
                 "the token is stored in the file 'token' in the server's data "
                 "directory");
  }
  if (auto holder = credentials_.Find(token, Now())) return *std::move(holder);
  return Error(absl::StatusCode::kUnauthenticated, "invalid_token",
               "invalid token: it was never issued, or it has expired or been "
               "revoked; run 'graphdbg url' on the server's machine to print a "
               "new address of the page, or use the token in the file 'token' "
               "in the server's data directory");
}

absl::StatusOr<Principal> Authenticator::CheckAuthorization(
    std::string_view header) const {
  return CheckApi(BearerToken(header));
}

bool Authenticator::IsValid(const Principal& caller) const {
  return caller.id.empty() || credentials_.IsValid(caller.id, Now());
}

absl::Status Authenticator::CheckAgent(std::string_view token,
                                       std::string_view peer) const {
  if (!options_.required) return absl::OkStatus();
  if (token.empty()) return CheckLocalAgent(peer);
  if (SameSecret(HashOf(token), agent_hash_) || IsOwner(token)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kUnauthenticated, "invalid_token",
               "invalid agent token; set GRAPHDBG_TOKEN_FILE to a copy of "
               "the file 'agent_token' in the server's data directory");
}

absl::Status Authenticator::CheckLocalAgent(std::string_view peer) const {
  if (!options_.required) return absl::OkStatus();
  if (!IsLoopbackPeer(peer)) {
    return NeedsAgentToken("an agent on another machine");
  }
  // Only the server's user can open the directory of its Unix socket.
  if (absl::StartsWith(ToAbsl(peer), "unix:")) return absl::OkStatus();
  if (!options_.user_of_peer) return NeedsAgentToken("an agent");
  const absl::StatusOr<uid_t> user = options_.user_of_peer(peer);
  if (!user.ok()) {
    return NeedsAgentToken("an agent whose user cannot be determined (" +
                           std::string(user.status().message()) + ")");
  }
  if (*user == *options_.own_user) return absl::OkStatus();
  return NeedsAgentToken("a process of another user (uid " +
                         std::to_string(*user) + ")");
}

absl::StatusOr<LoginCode> Authenticator::IssueCode(const Principal& caller,
                                                   std::string name,
                                                   Role role) {
  RETURN_IF_ERROR(RequireRole(caller, role));
  if (name != caller.name) RETURN_IF_ERROR(RequireRole(caller, Role::kAdmin));
  Principal holder;
  holder.name = std::move(name);
  holder.role = role;
  holder.parent = caller.id;
  holder.is_session = true;
  // An upper limit: a session ends with the credential that let it in.
  holder.expires_at = caller.expires_at;
  ASSIGN_OR_RETURN(std::string code,
                   codes_.Issue(std::move(holder), options_.steady_now()));
  return LoginCode{std::move(code), Now() + absl::FromChrono(kCodeLifetime)};
}

absl::StatusOr<LoginCode> Authenticator::IssueOwnerCode() {
  return IssueCode(Owner(), kOwner, Role::kAdmin);
}

absl::StatusOr<std::string> Authenticator::IssueEmbedKey() {
  return embed_keys_.Issue(options_.steady_now());
}

bool Authenticator::IsEmbedKey(std::string_view key) const {
  return embed_keys_.IsValid(key, options_.steady_now());
}

absl::StatusOr<IssuedToken> Authenticator::Redeem(std::string_view code) {
  ASSIGN_OR_RETURN(Principal holder,
                   codes_.Redeem(code, options_.steady_now()));
  const absl::Time now = Now();
  const bool issuer_has_ended =
      !holder.parent.empty() && !credentials_.IsValid(holder.parent, now);
  if (issuer_has_ended) return InvalidCode();
  holder.expires_at = std::min(holder.expires_at, now + kSessionLifetime);
  return credentials_.Issue(std::move(holder), now);
}

absl::StatusOr<IssuedToken> Authenticator::CreateToken(std::string name,
                                                       Role role,
                                                       absl::Time expires_at) {
  Principal holder;
  holder.name = std::move(name);
  holder.role = role;
  holder.expires_at = expires_at;
  return credentials_.Issue(std::move(holder), Now());
}

std::vector<Credential> Authenticator::Credentials() const {
  return credentials_.List(Now());
}

absl::Status Authenticator::Revoke(std::string_view id) {
  return credentials_.Revoke(id);
}

absl::Status Authenticator::EndSession(const Principal& caller) {
  if (caller.is_session) return credentials_.Revoke(caller.id);
  return Error(absl::StatusCode::kFailedPrecondition, "not_a_session",
               "the request uses a permanent token and no session; an "
               "administrator can revoke a named token with 'graphdbg token "
               "revoke ID'");
}

}  // namespace graphdbg::auth
