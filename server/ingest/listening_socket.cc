#include "server/ingest/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/ingest/address.h"

namespace graphdbg::ingest {
namespace {

// Connections that the kernel completes before they are accepted.
constexpr int kBacklog = 512;

// Opens a socket on an address that getaddrinfo() returned. Returns -1 and sets
// errno if that fails.
int BindTcp(const addrinfo& address) {
  const int fd =
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accepted connections inherit it.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

void SetPort(sockaddr* address, uint16_t port) {
  if (address->sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  } else if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  }
}

absl::Status CannotListenOn(const std::string& path, const std::string& why) {
  return Error(
      absl::StatusCode::kUnavailable, "cannot_listen",
      absl::StrCat("cannot listen for agents on the socket ", path, ": ", why));
}

// The directory must be closed to other users, because the mode of a socket
// does not protect it on every system.
absl::Status PrepareDirectory(const std::string& path) {
  const std::string directory =
      std::filesystem::path(path).parent_path().string();
  if (directory.empty() || directory[0] != '/') {
    return CannotListenOn(path, "the path does not start with a slash");
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return CannotListenOn(path, absl::StrCat("cannot create its directory: ",
                                             std::strerror(errno)));
  }
  struct stat status;
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return CannotListenOn(path, absl::StrCat(directory, " is no directory"));
  }
  if (status.st_uid != geteuid() || (status.st_mode & 0077) != 0) {
    return CannotListenOn(path,
                          absl::StrCat("other users can enter ", directory,
                                       "; choose a directory with mode 0700"));
  }
  return absl::OkStatus();
}

// Removes the socket of a server that has ended without removing it.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return CannotListenOn(path, "the file exists and is no socket");
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return CannotListenOn(path, std::strerror(errno));
  const bool in_use = connect(fd, reinterpret_cast<const sockaddr*>(&address),
                              sizeof(address)) == 0;
  close(fd);
  if (in_use) return CannotListenOn(path, "another program uses it");
  unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ListeningSocket>> ListeningSocket::OpenTcp(
    const std::string& host, uint16_t port) {
  std::vector<ListeningSocket> sockets;
  const auto listen_on = [&sockets](addrinfo& address) {
    // All addresses get the port that was picked for the first.
    if (!sockets.empty()) SetPort(address.ai_addr, sockets[0].port());
    const int fd = BindTcp(address);
    if (fd < 0) return errno;
    sockets.push_back(ListeningSocket(fd, ""));
    return 0;
  };
  RETURN_IF_ERROR(ForEachAddress(host, port, listen_on));
  return sockets;
}

absl::StatusOr<ListeningSocket> ListeningSocket::OpenUnix(
    const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return CannotListenOn(path,
                          absl::StrCat("the path is longer than ",
                                       sizeof(address.sun_path) - 1, " bytes"));
  }
  path.copy(address.sun_path, path.size());
  RETURN_IF_ERROR(PrepareDirectory(path));
  RETURN_IF_ERROR(RemoveStale(path, address));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return CannotListenOn(path, std::strerror(errno));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address),
                          sizeof(address)) == 0;
  // Removes the file if the rest fails.
  ListeningSocket listening(fd, bound ? path : "");
  if (!bound || chmod(path.c_str(), 0600) != 0 || listen(fd, kBacklog) != 0) {
    return CannotListenOn(path, std::strerror(errno));
  }
  return listening;
}

ListeningSocket::~ListeningSocket() {
  if (fd_ >= 0) close(fd_);
  if (!path_.empty()) unlink(path_.c_str());
}

uint16_t ListeningSocket::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  // The port is at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace graphdbg::ingest
