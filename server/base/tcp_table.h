// The TCP connections of this machine, according to the kernel.
#ifndef SERVER_BASE_TCP_TABLE_H_
#define SERVER_BASE_TCP_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphdbg {

// One end of a connection between two sockets. If both sockets are on this
// machine, the kernel lists each of them.
struct TcpSocket {
  // "127.0.0.1:40000" or "[::1]:40000". An IPv4-mapped IPv6 address is written
  // as IPv4.
  std::string local;
  std::string remote;
  uint16_t remote_port = 0;
  // The effective user of the process when it created the socket.
  uid_t user = 0;
  // 0 if no process has the socket open any more; `user` is meaningless then.
  uint64_t inode = 0;
};

// The established connections in the text of /proc/net/tcp or /proc/net/tcp6.
// Malformed lines are skipped.
std::vector<TcpSocket> EstablishedSockets(std::string_view table);

// The established connections of this machine. Absent if the kernel does not
// list them.
std::optional<std::vector<TcpSocket>> EstablishedSockets();

}  // namespace graphdbg

#endif  // SERVER_BASE_TCP_TABLE_H_
