#include "server/mindspore/connections.h"

#include <vector>

#include "server/base/tcp_table.h"

namespace graphdbg::mindspore {

std::optional<std::set<std::string>> EstablishedConnections() {
  const auto sockets = EstablishedSockets();
  if (!sockets) return std::nullopt;
  std::set<std::string> remote;
  for (const TcpSocket& socket : *sockets) remote.insert(socket.remote);
  return remote;
}

}  // namespace graphdbg::mindspore
