// The user at the other end of a connection on this machine.
#ifndef SERVER_AUTH_PEER_USER_H_
#define SERVER_AUTH_PEER_USER_H_

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace graphdbg::auth {

// Returns the user whose process holds the client's socket of a connection to
// one of this server's ports. `peer` is in gRPC's format, as for
// IsLoopbackPeer(). The kernel knows the user of a socket; unlike the port, a
// client cannot choose it.
//
// NOT_FOUND if there is no such connection on this machine, or no longer;
// FAILED_PRECONDITION if sockets of several users match; UNAVAILABLE if the
// kernel does not list connections.
absl::StatusOr<uid_t> UserOfPeer(std::string_view peer,
                                 const std::vector<uint16_t>& server_ports);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_PEER_USER_H_
