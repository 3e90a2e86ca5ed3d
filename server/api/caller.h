// The caller of a request, whom the route's check has identified.
#ifndef SERVER_API_CALLER_H_
#define SERVER_API_CALLER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/auth/principal.h"
#include "server/http/message.h"
#include "server/model/action.h"

namespace graphdbg::api {

// Called once, before the request's handler.
void SetCaller(http::Request& request, auth::Principal caller);

// Nobody, with the role "view", on routes that need no token.
const auth::Principal& CallerOf(const http::Request& request);

// PERMISSION_DENIED "role_too_low" if the caller may not perform all of these
// actions: a rule or watchpoint may only do what its caller may do.
absl::Status CheckMayPerform(const http::Request& request,
                             const std::vector<model::Action>& actions);

// Describes, for the audit log, what the request does: "step 3". Never contains
// tokens or codes. Without effect on routes that need no token.
void Note(const http::Request& request, std::string detail);
// The note that the handler made for the audit log.
std::string NoteOf(const http::Request& request);

}  // namespace graphdbg::api

#endif  // SERVER_API_CALLER_H_
