// What is refused before any handler sees it, and what every answer carries.
#ifndef SERVER_HTTP_GUARD_H_
#define SERVER_HTTP_GUARD_H_

#include <optional>

#include "server/http/message.h"

namespace graphdbg::http {

// The refusal, if there is one: 421 for a Host that is not loopback, 403 for a
// page of another origin, 415 for a write whose body is not JSON. For a server
// that listens on loopback and speaks plain HTTP.
std::optional<Response> Refusal(const Request& request);

// Forbids all that the page does not need.
void AddSecurityHeaders(Response& response);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_GUARD_H_
