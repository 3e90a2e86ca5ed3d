// Checks that apply to every request, and headers that every response carries.
#ifndef SERVER_HTTP_GUARD_H_
#define SERVER_HTTP_GUARD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace graphdbg::http {

// How clients address the server.
struct Site {
  bool https = false;
  // The ports that a Host header may name: the server's own, and those of
  // tunnels to it. Empty means any.
  std::vector<uint16_t> ports = {};
  // Whether `host` is one of the server's names or addresses. Loopback names
  // are always accepted; may be null if there are no others.
  std::function<bool(std::string_view host)> is_own_name = nullptr;
  // Origins of pages that may show this site in a frame, separated by spaces.
  // Empty means none.
  std::string frame_ancestors = {};
  // Whether editors may show the address of the request in a frame. Null means
  // that there is no such address.
  std::function<bool(const Request&)> is_embedded = nullptr;
};

// The content type that a write must have. A page from another origin can send
// neither without a CORS preflight request, which this server rejects.
enum class BodyKind { kJson, kBytes };

// The problem with where a request comes from, if there is one: 421 for a Host
// that is neither loopback nor the site's own name, or that names another port;
// 403 for a page from another origin. A browser that follows a link from
// another site, which its user sees, is let in, and so is a frame if some pages
// may show one; the browser then checks which page does (AddSecurityHeaders).
std::optional<Response> CheckSource(const Request& request, const Site& site);

// Status 415 for a body of another type, and for a write without a type. Needs
// only the header.
std::optional<Response> CheckContentType(const Request& request, BodyKind body);

// The origins of pages that may show the response to the request in a frame,
// separated by spaces: those of the site, and for some addresses those of
// editors.
std::string FrameAncestorsOf(const Request& request, const Site& site);

// Forbids everything that the page does not need, and keeping a copy unless the
// response allows it. `frame_ancestors` as in FrameAncestorsOf.
void AddSecurityHeaders(Response& response);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_GUARD_H_
