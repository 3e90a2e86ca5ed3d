#include "server/ingest/connection_acceptor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/ingest/testing/socket_directory.h"

namespace graphdbg::ingest {
namespace {

class ConnectionAcceptorTest : public ::testing::Test {
 protected:
  ~ConnectionAcceptorTest() override {
    acceptor_.reset();
    for (int fd : clients_) close(fd);
    for (int fd : accepted_) close(fd);
  }

  void Start(ConnectionLimits limits) {
    auto sockets = ListeningSocket::OpenTcp("127.0.0.1", 0);
    ASSERT_TRUE(sockets.ok());
    port_ = sockets->at(0).port();
    auto unix_socket = ListeningSocket::OpenUnix(path());
    ASSERT_TRUE(unix_socket.ok());
    sockets->push_back(*std::move(unix_socket));
    acceptor_ = std::make_unique<ConnectionAcceptor>(
        *std::move(sockets), limits,
        [this](int, int fd) {
          absl::MutexLock lock(&mu_);
          accepted_.push_back(fd);
        },
        [this](std::string_view line) {
          absl::MutexLock lock(&mu_);
          log_.emplace_back(line);
        });
  }

  std::string path() const { return directory_.path() + "/agent.sock"; }

  int ConnectTcp() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(
        connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    clients_.push_back(fd);
    return fd;
  }
  int ConnectUnix() {
    clients_.push_back(testing::ConnectToUnix(path()));
    return clients_.back();
  }

  void WaitForAccepted(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto there = [&] {
      mu_.AssertHeld();
      return accepted_.size() >= count;
    };
    EXPECT_TRUE(
        mu_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(30)));
  }
  size_t accepted() {
    absl::MutexLock lock(&mu_);
    return accepted_.size();
  }
  std::vector<std::string> log() {
    absl::MutexLock lock(&mu_);
    return log_;
  }

  // Blocks until the server has closed the connection.
  static bool IsClosedByServer(int fd) {
    char byte;
    return read(fd, &byte, 1) <= 0;
  }

  const testing::SocketDirectory directory_;
  uint16_t port_ = 0;
  std::vector<int> clients_;
  absl::Mutex mu_;
  std::vector<int> accepted_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> log_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ConnectionAcceptor> acceptor_;
};

TEST_F(ConnectionAcceptorTest, HandsOverConnectionsOfAllSockets) {
  Start({10, 5});
  ConnectTcp();
  ConnectUnix();
  WaitForAccepted(2);
  EXPECT_TRUE(log().empty());
}

TEST_F(ConnectionAcceptorTest, OneAddressCannotKeepOthersOut) {
  Start({4, 2});
  ConnectTcp();
  ConnectTcp();
  WaitForAccepted(2);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(IsClosedByServer(ConnectTcp()));
  EXPECT_EQ(accepted(), 2u);
  ConnectUnix();
  WaitForAccepted(3);
  // One line, however many were refused.
  ASSERT_EQ(log().size(), 1u);
  EXPECT_NE(log()[0].find("too many connections"), std::string::npos);
}

TEST_F(ConnectionAcceptorTest, PlacesAreFreeAgainOnceConnectionsAreClosed) {
  Start({2, 2});
  ConnectTcp();
  ConnectTcp();
  WaitForAccepted(2);
  EXPECT_TRUE(IsClosedByServer(ConnectTcp()));
  {
    absl::MutexLock lock(&mu_);
    close(accepted_[0]);
    accepted_.erase(accepted_.begin());
  }
  ConnectTcp();
  WaitForAccepted(2);
}

TEST_F(ConnectionAcceptorTest, StopsListening) {
  Start({2, 2});
  acceptor_.reset();
  EXPECT_EQ(testing::ConnectToUnix(path()), -1);
}

}  // namespace
}  // namespace graphdbg::ingest
