#include "server/ingest/connection_acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::ingest {
namespace {

constexpr std::chrono::minutes kQuiet(1);
// After a failure that is likely to repeat, such as too few descriptors.
constexpr int kPauseMs = 100;

std::string AddressOf(const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
  } else if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
  }
  return text;
}

// Whether the process at the other end of a Unix socket belongs to the user of
// this one, or to root.
bool IsOwnUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(std::vector<ListeningSocket> sockets,
                                       ConnectionLimits limits,
                                       HandOver hand_over, Log log)
    : sockets_(std::move(sockets)),
      hand_over_(std::move(hand_over)),
      log_(std::move(log)),
      open_(limits),
      stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { Run(); });
}

ConnectionAcceptor::~ConnectionAcceptor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_fd_, &one, sizeof(one));
  thread_.join();
  close(stop_fd_);
}

void ConnectionAcceptor::Run() {
  std::vector<pollfd> waits = {{stop_fd_, POLLIN, 0}};
  for (const ListeningSocket& socket : sockets_) {
    waits.push_back({socket.fd(), POLLIN, 0});
  }
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (waits[i + 1].revents != 0) AcceptFrom(sockets_[i]);
    }
  }
}

void ConnectionAcceptor::AcceptFrom(const ListeningSocket& socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  const int fd = accept4(socket.fd(), reinterpret_cast<sockaddr*>(&peer), &size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    const bool lasting = errno == EMFILE || errno == ENFILE ||
                         errno == ENOBUFS || errno == ENOMEM;
    if (!lasting) return;
    Report(absl::StrCat("cannot accept: ", std::strerror(errno)));
    pollfd stop = {stop_fd_, POLLIN, 0};
    poll(&stop, 1, kPauseMs);
    return;
  }
  const bool wanted = !socket.is_unix() || IsOwnUser(fd);
  if (!wanted || !open_.Add(fd, AddressOf(peer))) {
    close(fd);
    Report(wanted ? "too many connections" : "the socket is for its user only");
    return;
  }
  hand_over_(socket.fd(), fd);
}

void ConnectionAcceptor::Report(std::string_view cause) {
  const auto now = std::chrono::steady_clock::now();
  if (!log_ || now < quiet_until_) return;
  quiet_until_ = now + kQuiet;
  log_(absl::StrCat("refused a connection on the agents' port: ",
                    absl::string_view(cause.data(), cause.size()),
                    "; further ones are not reported for a minute"));
}

}  // namespace graphdbg::ingest
