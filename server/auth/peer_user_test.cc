#include "server/auth/peer_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace graphdbg::auth {
namespace {

constexpr uid_t kNobody = 65534;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

uint16_t LocalPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                   : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

sockaddr_in V4(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_in6 V6(const char* host, uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, host, &address.sin6_addr), 1);
  return address;
}

template <class Address>
int Listen(const Address& address) {
  const int fd = socket(reinterpret_cast<const sockaddr&>(address).sa_family,
                        SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address),
                     sizeof address) != 0) {
    if (fd >= 0) close(fd);
    return -1;
  }
  EXPECT_EQ(listen(fd, 8), 0);
  return fd;
}

template <class Address>
int Connect(const Address& address) {
  const int fd = socket(reinterpret_cast<const sockaddr&>(address).sa_family,
                        SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address),
                         sizeof address) == 0) {
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

std::string V4Peer(uint16_t port) {
  return "ipv4:127.0.0.1:" + std::to_string(port);
}

TEST(PeerUserTest, FindsTheUserOfAClient) {
  Socket server(Listen(V4(0)));
  ASSERT_GE(server.fd(), 0);
  const uint16_t port = LocalPort(server.fd());
  Socket client(Connect(V4(port)));
  ASSERT_GE(client.fd(), 0);
  const std::string peer = V4Peer(LocalPort(client.fd()));
  const auto user = UserOfPeer(peer, {1, port});
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, geteuid());
  // A socket of the same address that is connected to another server does not
  // count.
  EXPECT_TRUE(absl::IsNotFound(UserOfPeer(peer, {1}).status()));
  EXPECT_TRUE(absl::IsNotFound(UserOfPeer(peer, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(UserOfPeer(V4Peer(1), {port}).status()));
  for (const char* malformed : {"", "ipv4:", "unix:", "127.0.0.1"}) {
    EXPECT_TRUE(absl::IsNotFound(UserOfPeer(malformed, {port}).status()));
  }
}

TEST(PeerUserTest, FindsClientsWithIpv6Sockets) {
  Socket v4(Listen(V4(0)));
  const uint16_t v4_port = LocalPort(v4.fd());
  // gRPC connects to IPv4 addresses with IPv6 sockets.
  Socket mapped(Connect(V6("::ffff:127.0.0.1", v4_port)));
  if (mapped.fd() < 0) GTEST_SKIP() << "this machine has no IPv6";
  const std::string client_port = std::to_string(LocalPort(mapped.fd()));
  for (const std::string& peer : {"ipv4:127.0.0.1:" + client_port,
                                  "ipv6:%5B::ffff:127.0.0.1%5D:" + client_port,
                                  "ipv6:[::ffff:127.0.0.1]:" + client_port}) {
    const auto user = UserOfPeer(peer, {v4_port});
    ASSERT_TRUE(user.ok()) << peer << ": " << user.status();
    EXPECT_EQ(*user, geteuid());
  }
  Socket v6(Listen(V6("::1", 0)));
  if (v6.fd() < 0) GTEST_SKIP() << "this machine has no address ::1";
  const uint16_t v6_port = LocalPort(v6.fd());
  Socket client(Connect(V6("::1", v6_port)));
  ASSERT_GE(client.fd(), 0);
  const auto user = UserOfPeer(
      "ipv6:%5B::1%5D:" + std::to_string(LocalPort(client.fd())), {v6_port});
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, geteuid());
}

TEST(PeerUserTest, AClientThatHasLeftIsNobody) {
  Socket server(Listen(V4(0)));
  const uint16_t port = LocalPort(server.fd());
  Socket client(Connect(V4(port)));
  Socket accepted(accept4(server.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::string peer = V4Peer(LocalPort(client.fd()));
  client.Close();
  // The kernel reports such sockets as those of user 0, which may be ours.
  EXPECT_TRUE(absl::IsNotFound(UserOfPeer(peer, {port}).status()));
}

// Root can, except in a user namespace that does not have that user.
bool CanBecomeNobody() {
  const pid_t child = fork();
  if (child == 0) _exit(setuid(kNobody) == 0 ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

// Runs in a child process: connects as another user, reports the client's port,
// or 0, and stays connected until the parent closes its end of `channel`.
[[noreturn]] void ConnectAsNobody(uint16_t port, int channel) {
  uint16_t from = 0;
  if (setuid(kNobody) == 0) {
    const int fd = Connect(V4(port));
    if (fd >= 0) from = LocalPort(fd);
  }
  if (write(channel, &from, sizeof from) != sizeof from) _exit(1);
  char end;
  _exit(read(channel, &end, 1) == 0 ? 0 : 1);
}

TEST(PeerUserTest, FindsAnotherUser) {
  if (!CanBecomeNobody()) GTEST_SKIP() << "cannot act as another user";
  Socket server(Listen(V4(0)));
  const uint16_t port = LocalPort(server.fd());
  int channel[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(channel[0]);
    ConnectAsNobody(port, channel[1]);
  }
  Socket parent(channel[0]);
  close(channel[1]);
  uint16_t from = 0;
  EXPECT_EQ(read(parent.fd(), &from, sizeof from),
            static_cast<ssize_t>(sizeof from));
  EXPECT_NE(from, 0);
  const auto user = UserOfPeer(V4Peer(from), {port});
  parent.Close();
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, kNobody);
}

}  // namespace
}  // namespace graphdbg::auth
