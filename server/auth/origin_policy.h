// Recognizes the names, addresses and origins of this machine. Pages of other
// sites must not reach a server on loopback, neither from their own origin nor
// through DNS rebinding, that is, under a name that resolves to 127.0.0.1.
#ifndef SERVER_AUTH_ORIGIN_POLICY_H_
#define SERVER_AUTH_ORIGIN_POLICY_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace graphdbg::auth {

// Whether `host` is "localhost", an address in 127.0.0.0/8, or "::1".
bool IsLoopbackName(std::string_view host);

// Whether a Host header names loopback, at any port.
bool IsLoopbackHostHeader(std::string_view host);

// The host in a Host header, without port and brackets; empty if the header is
// malformed.
std::string_view HostOf(std::string_view host);

// The port in a Host header, if it names a valid one.
std::optional<uint16_t> PortOf(std::string_view host);

// Whether an Origin header is the origin of this server, for a request with the
// Host header `host`.
bool IsSameOrigin(std::string_view origin, std::string_view host,
                  bool https = false);

// Whether a peer is on this machine. `peer` is in gRPC's format:
// "ipv4:127.0.0.1:123", "ipv6:%5B::1%5D:123" or "unix:...".
bool IsLoopbackPeer(std::string_view peer);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_ORIGIN_POLICY_H_
