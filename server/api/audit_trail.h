// Decides which requests the audit log records, and how.
#ifndef SERVER_API_AUDIT_TRAIL_H_
#define SERVER_API_AUDIT_TRAIL_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/api/routes.h"
#include "server/api/services.h"
#include "server/audit/audit_log.h"
#include "server/auth/principal.h"
#include "server/http/message.h"

namespace graphdbg::api {

// The name of what a route does in the audit log, for example "control". Empty
// if requests to it are recorded only when they are refused.
std::string_view ActionOf(const Route& route);

// Records a request with its outcome if it controls something, reads values, or
// was refused for lack of rights.
void RecordOutcome(const Services& services, const Route& route,
                   const http::Request& request, const absl::Status& outcome);

// An entry with the fields that all entries of a caller have in common.
audit::Entry EntryOf(const auth::Principal& caller,
                     const http::Request& request, std::string action,
                     const absl::Status& outcome);

}  // namespace graphdbg::api

#endif  // SERVER_API_AUDIT_TRAIL_H_
