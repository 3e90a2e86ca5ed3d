// Roles of a caller of the API, and the permissions of each.
#ifndef SERVER_AUTH_ROLE_H_
#define SERVER_AUTH_ROLE_H_

#include <optional>
#include <string_view>

namespace graphdbg::auth {

// Each role includes those before it.
enum class Role {
  // Reads everything about jobs, including values.
  kView,
  // Controls jobs and sets watchpoints.
  kControl,
  // Terminates and deletes jobs, manages tokens and reads the audit log.
  kAdmin,
};

std::string_view ToString(Role role);

// "view", "control" or "admin".
std::optional<Role> ParseRole(std::string_view name);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_ROLE_H_
