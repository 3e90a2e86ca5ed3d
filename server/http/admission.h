// Decides about a request once its header has arrived, so that the body of a
// request that is refused is never read.
#ifndef SERVER_HTTP_ADMISSION_H_
#define SERVER_HTTP_ADMISSION_H_

#include <optional>

#include "server/http/guard.h"
#include "server/http/message.h"
#include "server/http/router.h"

namespace graphdbg::http {

// Checks, in this order: the Host header and where the request comes from, the
// path and the method, the content type, and what the route itself checks.
// Returns the response to a request that is refused. Otherwise `match` has a
// handler or a channel, and the request has the parameters of its path.
//
// `is_upgrade`: whether the request asks for a WebSocket.
std::optional<Response> CheckRequest(Request& request, const Router& router,
                                     const Site& site, bool is_upgrade,
                                     Router::Match& match);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ADMISSION_H_
