// The network connections of this machine, according to the kernel. A client
// may make no call for minutes while it computes, and releases before 1.3 send
// no heartbeats, so a closed socket is the only sign of its end.
#ifndef SERVER_MINDSPORE_CONNECTIONS_H_
#define SERVER_MINDSPORE_CONNECTIONS_H_

#include <optional>
#include <set>
#include <string>

namespace graphdbg::mindspore {

// The remote endpoints of this machine's established TCP connections, in the
// form "127.0.0.1:40000" or "[::1]:40000". IPv4-mapped IPv6 addresses are
// returned as IPv4. Absent if they cannot be determined.
std::optional<std::set<std::string>> EstablishedConnections();

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CONNECTIONS_H_
