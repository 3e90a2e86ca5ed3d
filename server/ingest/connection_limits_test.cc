#include "server/ingest/connection_limits.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace graphdbg::ingest {
namespace {

int OpenSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

TEST(ConnectionLimitsTest, LeaveDescriptorsToTheRestOfTheServer) {
  for (const size_t descriptors : {256u, 1'024u, 20'000u, 1'000'000u}) {
    const ConnectionLimits limits = LimitsFor(descriptors);
    EXPECT_LT(limits.total, descriptors / 2);
    EXPECT_LE(limits.per_address, limits.total / 2);
    EXPECT_GE(limits.per_address, 50u);
  }
  EXPECT_GT(LimitsFor(1).per_address, 0u);
  EXPECT_GT(DescriptorLimit(), 0u);
}

TEST(OpenConnectionsTest, OneAddressLeavesRoomForOthers) {
  OpenConnections open({4, 2});
  std::vector<int> fds;
  const auto add = [&](const char* address) {
    fds.push_back(OpenSocket());
    return open.Add(fds.back(), address);
  };
  EXPECT_TRUE(add("10.0.0.1"));
  EXPECT_TRUE(add("10.0.0.1"));
  EXPECT_FALSE(add("10.0.0.1"));
  EXPECT_TRUE(add("10.0.0.2"));
  // Has no share of its own.
  EXPECT_TRUE(add(""));
  EXPECT_FALSE(add(""));
  EXPECT_FALSE(add("10.0.0.2"));
  for (int fd : fds) close(fd);
}

TEST(OpenConnectionsTest, ClosedConnectionsMakeRoom) {
  OpenConnections open({2, 2});
  const int first = OpenSocket();
  const int second = OpenSocket();
  ASSERT_TRUE(open.Add(first, "a"));
  ASSERT_TRUE(open.Add(second, "a"));
  close(first);
  // Another file gets the number of the closed socket.
  const int reused = OpenSocket();
  ASSERT_EQ(reused, first);
  EXPECT_TRUE(open.Add(reused, "a"));
  const int more = OpenSocket();
  EXPECT_FALSE(open.Add(more, "a"));
  for (int fd : {reused, second, more}) close(fd);
}

}  // namespace
}  // namespace graphdbg::ingest
