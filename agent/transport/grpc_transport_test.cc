#include "agent/transport/grpc_transport.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "agent/base/mutex.h"
#include "gtest/gtest.h"

namespace {

// Added to the wall clock of the whole process.
std::atomic<int64_t> wall_clock_offset_seconds{0};

}  // namespace

// Takes the place of the C library's function for all libraries of the process.
extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_clock_offset_seconds;
  return static_cast<int>(result);
}

namespace graphdbg::agent {
namespace {

// Long enough for a loaded machine; only reached when a test fails.
constexpr auto kPatience = std::chrono::seconds(60);

// Accepts connections and sends nothing, like the kernel of a machine whose
// server has stopped to run.
class SilentServer {
 public:
  SilentServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, plain, size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    EXPECT_EQ(getsockname(fd_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() {
    close(connection_);
    close(fd_);
  }

  uint16_t port() const { return port_; }
  // Waits for a connection and for its first byte.
  void WaitForClient() {
    connection_ = accept(fd_, nullptr, nullptr);
    char byte;
    EXPECT_EQ(recv(connection_, &byte, 1, MSG_PEEK), 1);
  }

 private:
  const int fd_;
  int connection_ = -1;
  uint16_t port_ = 0;
};

// Counts streams that could not be opened.
class CountingLink final : public Link {
 public:
  v1::AgentMessage OpenStream() override { return {}; }
  bool Next(v1::AgentMessage*, bool*) override { return false; }
  bool HasNext() const override { return false; }
  void PutBack(v1::AgentMessage) override {}
  void OnMessage(const v1::ServerMessage&) override {}
  void OnReceivingEnded() override {}
  std::optional<std::chrono::milliseconds> OnStreamEnded(
      const absl::Status&) override {
    MutexLock lock(&mu_);
    ++attempts_;
    changed_.NotifyAll();
    return std::chrono::milliseconds(1);
  }

  // Returns false if there are not that many after a long time.
  bool WaitForAttempts(int attempts) {
    MutexLock lock(&mu_);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (attempts_ < attempts && changed_.WaitUntil(&mu_, deadline)) {
    }
    return attempts_ >= attempts;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int attempts_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

class GrpcTransportTest : public testing::Test {
 protected:
  ~GrpcTransportTest() override { wall_clock_offset_seconds = 0; }

  std::unique_ptr<Transport> Dial(Link* link) {
    Config config;
    config.port = server_.port();
    std::unique_ptr<Transport> transport = MakeGrpcTransport(config);
    transport->Start(link);
    server_.WaitForClient();
    return transport;
  }

  SilentServer server_;
};

TEST_F(GrpcTransportTest, AnAttemptEndsAlthoughTheWallClockIsSetBack) {
  CountingLink link;
  const std::unique_ptr<Transport> transport = Dial(&link);
  wall_clock_offset_seconds = -3600;
  EXPECT_TRUE(link.WaitForAttempts(2));
  transport->Finish(std::chrono::milliseconds(0));
}

TEST_F(GrpcTransportTest, AttemptsGoOnAlthoughTheWallClockIsSetForward) {
  CountingLink link;
  const std::unique_ptr<Transport> transport = Dial(&link);
  wall_clock_offset_seconds = 3600;
  EXPECT_TRUE(link.WaitForAttempts(2));
  transport->Finish(std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace graphdbg::agent
