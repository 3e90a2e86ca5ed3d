#include "server/base/tcp_table.h"

#include <gtest/gtest.h>

namespace graphdbg {
namespace {

constexpr char kHeader[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
    "retrnsmt   uid  timeout inode\n";

TEST(TcpTableTest, ReadsEstablishedSocketsOfBothFamilies) {
  const auto sockets = EstablishedSockets(
      std::string(kHeader) +
      "   0: 0100007F:9C40 0100007F:C383 01 00000000:00000000 00:00000000 "
      "00000000  1000        0 4711 1 0000000000000000 20 4 30 10 -1\n"
      "   1: 00000000000000000000000001000000:9C41 "
      "00000000000000000000000001000000:C383 01 00000000:00000000 00:00000000 "
      "00000000     7        0 4712 1 0000000000000000\n"
      "   2: 0000000000000000FFFF00000100007F:9C42 "
      "0000000000000000FFFF00000100007F:C383 01 00000000:00000000 00:00000000 "
      "00000000     8        0 4713 1 0000000000000000\n");
  ASSERT_EQ(sockets.size(), 3u);
  EXPECT_EQ(sockets[0].local, "127.0.0.1:40000");
  EXPECT_EQ(sockets[0].remote, "127.0.0.1:50051");
  EXPECT_EQ(sockets[0].remote_port, 50051);
  EXPECT_EQ(sockets[0].user, 1000u);
  EXPECT_EQ(sockets[0].inode, 4711u);
  EXPECT_EQ(sockets[1].local, "[::1]:40001");
  EXPECT_EQ(sockets[2].local, "127.0.0.1:40002");
  EXPECT_EQ(sockets[2].user, 8u);
}

TEST(TcpTableTest, SkipsOtherStatesAndMalformedLines) {
  const std::string rest =
      " 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n";
  EXPECT_TRUE(EstablishedSockets("").empty());
  EXPECT_TRUE(EstablishedSockets(kHeader).empty());
  for (const char* line :
       {"0: 0100007F:9C40 0100007F:C383 06",
        "0: 0100007F:9C40 00000000:0000 0A", "0: 0100007F 0100007F:C383 01",
        "0: 0100007F:1C383 0100007F:C383 01", "0: 0100:9C40 0100007F:C383 01",
        "0: xx00007F:9C40 0100007F:C383 01"}) {
    EXPECT_TRUE(EstablishedSockets(line + rest).empty()) << line;
  }
  EXPECT_TRUE(
      EstablishedSockets("0: 0100007F:9C40 0100007F:C383 01\n").empty());
}

}  // namespace
}  // namespace graphdbg
