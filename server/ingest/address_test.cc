#include "server/ingest/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace graphdbg::ingest {
namespace {

TEST(AddressTest, BracketsIpv6) {
  EXPECT_EQ(JoinHostPort("127.0.0.1", 5), "127.0.0.1:5");
  EXPECT_EQ(JoinHostPort("::1", 5), "[::1]:5");
  EXPECT_EQ(JoinHostPort("[::1]", 5), "[::1]:5");
}

TEST(CheckListenTest, SaysWhichAddressAndWhy) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  ASSERT_EQ(listen(fd, 1), 0);
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const uint16_t port = ntohs(address.sin_port);
  const std::string message(CheckListen("127.0.0.1", port).message());
  EXPECT_NE(message.find("127.0.0.1:" + std::to_string(port)),
            std::string::npos);
  EXPECT_NE(message.find("another program"), std::string::npos) << message;
  close(fd);
  EXPECT_TRUE(CheckListen("127.0.0.1", port).ok());
}

TEST(CheckListenTest, RefusesAddressesOfOthers) {
  // 192.0.2.0/24 is reserved for documentation; no machine uses it.
  const absl::Status status = CheckListen("192.0.2.1", 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace graphdbg::ingest
