// Decides which clients and agents may use the server.
#ifndef SERVER_AUTH_AUTHENTICATOR_H_
#define SERVER_AUTH_AUTHENTICATOR_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/auth/credential_store.h"
#include "server/auth/embed_keys.h"
#include "server/auth/login_codes.h"
#include "server/auth/principal.h"

namespace graphdbg::auth {

struct Secrets {
  // The owner's token. Grants access to the HTTP API, as an administrator, and
  // to the agent port.
  std::string api_token;
  // Grants access to the agent port only.
  std::string agent_token;
};

// Reads <data_dir>/token and <data_dir>/agent_token, and creates missing ones.
absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir);

struct AuthOptions {
  // If false (--no-auth), every caller is the owner.
  bool required = true;
  // Where named tokens and sessions are stored. If empty, they end with the
  // server.
  std::string credentials_file = {};
  // The user of a peer on this machine (see UserOfPeer()). If empty, peers
  // without a token are refused.
  std::function<absl::StatusOr<uid_t>(std::string_view peer)> user_of_peer = {};
  // The user who needs no token on the agent port. The server's own by default.
  std::optional<uid_t> own_user = std::nullopt;
  std::function<absl::Time()> now = {};
  std::function<LoginCodes::Clock::time_point()> steady_now = {};
};

inline constexpr absl::Duration kSessionLifetime = absl::Hours(12);

// A one-time code for an address of the page.
struct LoginCode {
  std::string code;
  absl::Time expires_at;
};

// Thread-safe.
class Authenticator {
 public:
  Authenticator(Secrets secrets, AuthOptions options);

  bool required() const { return options_.required; }
  // Why named tokens could not be loaded; empty if they could.
  const std::string& warning() const { return credentials_.warning(); }

  // The caller with this token. UNAUTHENTICATED "missing_token" or
  // "invalid_token".
  absl::StatusOr<Principal> CheckApi(std::string_view token) const;
  // The caller with the token in an Authorization header.
  absl::StatusOr<Principal> CheckAuthorization(std::string_view header) const;
  // Whether the caller's token or session is still valid.
  bool IsValid(const Principal& caller) const;

  // An agent needs a token, unless its process belongs to the same user as the
  // server, who could read the token anyway. If it presents one, it must be
  // valid.
  absl::Status CheckAgent(std::string_view token, std::string_view peer) const;
  // Checks an agent that cannot present a token. UNAUTHENTICATED
  // "missing_token" unless it is a process of the server's user.
  absl::Status CheckLocalAgent(std::string_view peer) const;

  // Returns a code that buys one session with this name and role, within 60 s.
  // PERMISSION_DENIED "role_too_low" if the caller has a lower role, or has
  // another name without being an administrator.
  absl::StatusOr<LoginCode> IssueCode(const Principal& caller, std::string name,
                                      Role role);
  // A code for the owner, for the address that the server prints.
  absl::StatusOr<LoginCode> IssueOwnerCode();
  // Returns a key of an address at which editors may show the page in a frame.
  absl::StatusOr<std::string> IssueEmbedKey();
  bool IsEmbedKey(std::string_view key) const;
  // Returns a session. UNAUTHENTICATED "invalid_code".
  absl::StatusOr<IssuedToken> Redeem(std::string_view code);

  // Creates a named token; `expires_at` may be infinite. Errors as
  // CredentialStore::Issue().
  absl::StatusOr<IssuedToken> CreateToken(std::string name, Role role,
                                          absl::Time expires_at);
  // Named tokens and sessions, oldest first.
  std::vector<Credential> Credentials() const;
  // Ends a token or session. Errors as CredentialStore::Revoke().
  absl::Status Revoke(std::string_view id);
  // Ends the caller's session. FAILED_PRECONDITION "not_a_session" if the
  // caller has presented a permanent token.
  absl::Status EndSession(const Principal& caller);

  absl::Time Now() const { return options_.now(); }

 private:
  bool IsOwner(std::string_view token) const;

  const AuthOptions options_;
  // Hashes have the same length, so that comparing them takes the same time for
  // every token.
  const std::string api_hash_;
  const std::string agent_hash_;
  LoginCodes codes_;
  EmbedKeys embed_keys_;
  CredentialStore credentials_;
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_AUTHENTICATOR_H_
