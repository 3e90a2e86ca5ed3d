#include "agent/core/server_connection.h"

#include <gtest/gtest.h>

#include <thread>

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;
using Readiness = ServerConnection::Readiness;

std::chrono::steady_clock::time_point In(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

constexpr milliseconds kLong(60'000);

v1::Welcome WelcomeWith(uint32_t watchpoints) {
  v1::Welcome welcome;
  welcome.set_watchpoint_count(watchpoints);
  welcome.set_page_address("http://127.0.0.1:8080");
  return welcome;
}

class ServerConnectionTest : public testing::Test {
 protected:
  const Host host_;
  ServerConnection connection_{"127.0.0.1:50051"};
};

TEST_F(ServerConnectionTest, ReportsThatNoServerWasFound) {
  EXPECT_EQ(connection_.WaitUntilReady(In(milliseconds(1)), host_),
            Readiness::kNoServer);
}

TEST_F(ServerConnectionTest, IsReadyOnceWelcomed) {
  std::thread server([&] { connection_.OnWelcome(WelcomeWith(0)); });
  EXPECT_EQ(connection_.WaitUntilReady(In(kLong), host_), Readiness::kReady);
  server.join();
  EXPECT_EQ(connection_.page_address(), "http://127.0.0.1:8080");
}

TEST_F(ServerConnectionTest, WaitsForTheWatchpointsThatWereAnnounced) {
  connection_.OnWelcome(WelcomeWith(2));
  std::thread server([&] {
    connection_.OnWatchpoint();
    connection_.OnWatchpoint();
  });
  EXPECT_EQ(connection_.WaitUntilReady(In(kLong), host_), Readiness::kReady);
  server.join();
}

TEST_F(ServerConnectionTest, StopsWaitingForALostServer) {
  connection_.OnWelcome(WelcomeWith(1));
  connection_.OnStreamEnded();
  EXPECT_EQ(connection_.WaitUntilReady(In(kLong), host_), Readiness::kReady);
}

TEST_F(ServerConnectionTest, AbandonEndsTheWait) {
  std::thread agent([&] { connection_.Abandon(); });
  EXPECT_EQ(connection_.WaitUntilReady(In(kLong), host_), Readiness::kReady);
  agent.join();
}

TEST_F(ServerConnectionTest, HostCanInterruptTheWait) {
  graphdbg_host callbacks = {};
  callbacks.struct_size = sizeof(callbacks);
  callbacks.interrupted = [](void*, void*) { return 1; };
  const Host host(&callbacks);
  EXPECT_EQ(connection_.WaitUntilReady(In(kLong), host),
            Readiness::kInterrupted);
}

TEST_F(ServerConnectionTest, RetriesQuicklyUntilTheFirstConnection) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(200));
  }
  EXPECT_FALSE(connection_.lost_since());
}

TEST_F(ServerConnectionTest, SearchesInTheBackgroundUntilAServerIsFound) {
  connection_.SearchInBackground();
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(3000));
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(3000));
  testing::internal::CaptureStderr();
  connection_.OnWelcome(WelcomeWith(0));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "graphdbg: found a server at 127.0.0.1:50051\n");
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(200));
}

TEST_F(ServerConnectionTest, BacksOffAfterALossUntilWelcomedAgain) {
  connection_.OnWelcome(WelcomeWith(0));
  EXPECT_FALSE(connection_.lost_since());
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(200));
  const auto lost_since = connection_.lost_since();
  ASSERT_TRUE(lost_since);
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(400));
  EXPECT_EQ(connection_.lost_since(), lost_since);
  for (int i = 0; i < 10; ++i) connection_.OnStreamEnded();
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(5000));
  connection_.OnWelcome(WelcomeWith(0));
  EXPECT_FALSE(connection_.lost_since());
  EXPECT_EQ(connection_.OnStreamEnded(), milliseconds(200));
}

TEST_F(ServerConnectionTest, DoesNotRetryOnceClosed) {
  EXPECT_FALSE(connection_.Close());
  EXPECT_FALSE(connection_.OnStreamEnded());
}

TEST_F(ServerConnectionTest, CloseReturnsWhetherTheServerIsConnected) {
  connection_.OnWelcome(WelcomeWith(0));
  EXPECT_TRUE(connection_.Close());
}

}  // namespace
}  // namespace graphdbg::agent
