#include "server/auth/role.h"

namespace graphdbg::auth {

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kView:
      return "view";
    case Role::kControl:
      return "control";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (Role role : {Role::kView, Role::kControl, Role::kAdmin}) {
    if (name == ToString(role)) return role;
  }
  return std::nullopt;
}

}  // namespace graphdbg::auth
