// Accepts the connections of agents, within limits.
#ifndef SERVER_INGEST_CONNECTION_ACCEPTOR_H_
#define SERVER_INGEST_CONNECTION_ACCEPTOR_H_

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "server/ingest/connection_limits.h"
#include "server/ingest/listening_socket.h"

namespace graphdbg::ingest {

// Runs on a thread of its own. The destructor stops it and closes the listening
// sockets.
class ConnectionAcceptor {
 public:
  // Takes over an accepted connection.
  using HandOver = std::function<void(int listening_fd, int fd)>;
  using Log = std::function<void(std::string_view line)>;

  // `log` may be empty. It gets at most one line a minute about refused
  // connections.
  ConnectionAcceptor(std::vector<ListeningSocket> sockets,
                     ConnectionLimits limits, HandOver hand_over, Log log);
  ~ConnectionAcceptor();

 private:
  void Run();
  void AcceptFrom(const ListeningSocket& socket);
  void Report(std::string_view cause);

  const std::vector<ListeningSocket> sockets_;
  const HandOver hand_over_;
  const Log log_;
  OpenConnections open_;
  std::chrono::steady_clock::time_point quiet_until_;
  // Readable once the thread has to stop.
  int stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_CONNECTION_ACCEPTOR_H_
