// The caller of a request, as its credential identifies it.
#ifndef SERVER_AUTH_PRINCIPAL_H_
#define SERVER_AUTH_PRINCIPAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/auth/role.h"

namespace graphdbg::auth {

// The name of callers with the token of the data directory.
inline constexpr char kOwner[] = "owner";

struct Principal {
  // Identifies a person or a script: "owner" or the name of a token.
  std::string name;
  Role role = Role::kView;
  // The id of the named token or session. Empty for the token of the data
  // directory, which has none.
  std::string id;
  // The id of the credential that let a session in. It ends the session when it
  // ends itself. Empty for the token of the data directory.
  std::string parent;
  bool is_session = false;
  absl::Time expires_at = absl::InfiniteFuture();
};

// PERMISSION_DENIED "role_too_low", naming the role, if the caller's role does
// not include `needed`.
absl::Status RequireRole(const Principal& caller, Role needed);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_PRINCIPAL_H_
