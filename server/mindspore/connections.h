// Which connections this machine has, as the kernel knows it. A client that
// computes makes no call for minutes, and the wire before 1.3 has no heartbeat;
// that its socket is gone is the only sign of its end.
#ifndef SERVER_MINDSPORE_CONNECTIONS_H_
#define SERVER_MINDSPORE_CONNECTIONS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace graphdbg::mindspore {

// The far ends of established TCP connections in the text of /proc/net/tcp or
// /proc/net/tcp6, as "127.0.0.1:40000" and "[::1]:40000". IPv4 addresses mapped
// to IPv6 are written as IPv4.
std::set<std::string> FarEnds(std::string_view table);

// Of this process's network; absent if they cannot be read.
std::optional<std::set<std::string>> EstablishedConnections();

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CONNECTIONS_H_
