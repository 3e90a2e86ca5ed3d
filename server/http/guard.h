// What is refused before any handler sees it, and what every answer carries.
#ifndef SERVER_HTTP_GUARD_H_
#define SERVER_HTTP_GUARD_H_

#include <functional>
#include <optional>
#include <string_view>

#include "server/http/message.h"

namespace graphdbg::http {

// What the server is called from outside.
struct Site {
  bool https = false;
  // Names and addresses besides those of loopback; empty: none.
  std::function<bool(std::string_view host)> is_own_name;
};

// What the body of a write has to be. Pages of others cannot send either
// without being asked for their origin first.
enum class BodyKind { kJson, kBytes };

// The refusal, if there is one: 421 for a Host that is neither loopback nor the
// site's own name, 403 for a page of another origin, 415 for a write whose body
// is of another kind.
std::optional<Response> Refusal(const Request& request, const Site& site,
                                BodyKind body = BodyKind::kJson);

// Forbids all that the page does not need.
void AddSecurityHeaders(Response& response);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_GUARD_H_
