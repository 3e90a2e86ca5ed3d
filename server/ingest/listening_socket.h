// The sockets on which the server waits for agents.
#ifndef SERVER_INGEST_LISTENING_SOCKET_H_
#define SERVER_INGEST_LISTENING_SOCKET_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace graphdbg::ingest {

// Closes its descriptor, and removes the file of a Unix socket.
class ListeningSocket {
 public:
  // One socket for each address of the host, all on the same port; port 0 picks
  // a free one. UNAVAILABLE names the address and the cause.
  static absl::StatusOr<std::vector<ListeningSocket>> OpenTcp(
      const std::string& host, uint16_t port);

  // A socket for processes of the same user: only they can reach it, because
  // no other user can enter its directory. Creates the directory (mode 0700) if
  // it does not exist. UNAVAILABLE names the path and the cause.
  static absl::StatusOr<ListeningSocket> OpenUnix(const std::string& path);

  ListeningSocket(ListeningSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::exchange(other.path_, {})) {}
  ListeningSocket& operator=(ListeningSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~ListeningSocket();

  int fd() const { return fd_; }
  bool is_unix() const { return !path_.empty(); }
  // The port of a TCP socket.
  uint16_t port() const;

 private:
  ListeningSocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  // Empty for TCP.
  std::string path_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_LISTENING_SOCKET_H_
