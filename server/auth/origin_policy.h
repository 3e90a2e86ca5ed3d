// Which names, addresses and origins are this machine's own. A page of another
// site must not reach a server on loopback, neither from its own origin nor
// under a name of its own that it lets resolve to 127.0.0.1.
#ifndef SERVER_AUTH_ORIGIN_POLICY_H_
#define SERVER_AUTH_ORIGIN_POLICY_H_

#include <string_view>

namespace graphdbg::auth {

// "localhost", "127.0.0.1" (all of 127.0.0.0/8), "::1".
bool IsLoopbackName(std::string_view host);

// A Host header that names loopback; any port, since users forward ports.
bool IsLoopbackHostHeader(std::string_view host);

// A Host header without port and brackets; empty if it is malformed.
std::string_view HostOf(std::string_view host);

// Whether an Origin header is the origin that served the request, which came
// to `host`.
bool IsSameOrigin(std::string_view origin, std::string_view host,
                  bool https = false);

// A peer as gRPC writes it: "ipv4:127.0.0.1:123", "ipv6:%5B::1%5D:123",
// "unix:...".
bool IsLoopbackPeer(std::string_view peer);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_ORIGIN_POLICY_H_
