#include "server/auth/principal.h"

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/base/string_views.h"

namespace graphdbg::auth {

absl::Status RequireRole(const Principal& caller, Role needed) {
  if (caller.role >= needed) return absl::OkStatus();
  return Error(
      absl::StatusCode::kPermissionDenied, "role_too_low",
      absl::StrCat("this requires the role '", ToAbsl(ToString(needed)),
                   "', but '", caller.name, "' has the role '",
                   ToAbsl(ToString(caller.role)),
                   "'; an administrator can create a token with 'graphdbg "
                   "token create NAME --role ",
                   ToAbsl(ToString(needed)), "'"));
}

}  // namespace graphdbg::auth
