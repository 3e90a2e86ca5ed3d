#include "agent/core/loopback.h"

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

TEST(LoopbackTest, IsThisMachineInEveryNotation) {
  for (const char* host :
       {"localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1", "[::1]",
        "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
}

TEST(LoopbackTest, IsNoOtherMachineWhateverItsName) {
  for (const char* host :
       {"", "gpu7", "10.0.0.1", "0.0.0.0", "::", "::2", "::ffff:10.0.0.1",
        "127.0.0.1.example.org", "localhost.example.org", "127.0.0.1:1",
        "ipv4:127.0.0.1", "dns:localhost", "128.0.0.1", "2130706433"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace graphdbg::agent
