#include "server/auth/origin_policy.h"

#include <gtest/gtest.h>

namespace graphdbg::auth {
namespace {

TEST(OriginPolicyTest, KnowsLoopbackNames) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "127.0.0.1",
                           "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopbackName(host)) << host;
  }
  for (const char* host :
       {"", "0.0.0.0", "::", "128.0.0.1", "127.1", "localhost.evil.com",
        "evil.localhost.com", "[::1]", "::ffff:10.0.0.1", "2130706433"}) {
    EXPECT_FALSE(IsLoopbackName(host)) << host;
  }
}

TEST(OriginPolicyTest, HostHeadersMayCarryAPort) {
  for (const char* host :
       {"localhost", "localhost:1", "127.0.0.1:65535", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(IsLoopbackHostHeader(host)) << host;
  }
  for (const char* host : {"localhost:", "localhost:x", "localhost:123456",
                           "[::1", "[::1]:", "[::1]8080", "::1:8080",
                           "user@localhost", "localhost:80:80"}) {
    EXPECT_FALSE(IsLoopbackHostHeader(host)) << host;
  }
}

TEST(OriginPolicyTest, FindsThePortOfAHostHeader) {
  EXPECT_EQ(PortOf("localhost:8080"), 8080);
  EXPECT_EQ(PortOf("[::1]:65535"), 65535);
  for (const char* host : {"", "localhost", "localhost:", "localhost:65536",
                           "[::1]", "[::1]8080", "localhost:80:80"}) {
    EXPECT_EQ(PortOf(host), std::nullopt) << host;
  }
}

TEST(OriginPolicyTest, AnOriginIsSchemeHostAndPort) {
  EXPECT_TRUE(IsSameOrigin("http://localhost:8080", "localhost:8080"));
  EXPECT_TRUE(IsSameOrigin("http://LOCALHOST:8080", "localhost:8080"));
  EXPECT_FALSE(IsSameOrigin("http://localhost:8081", "localhost:8080"));
  EXPECT_FALSE(IsSameOrigin("https://localhost:8080", "localhost:8080"));
  EXPECT_FALSE(IsSameOrigin("http://localhost:8080/", "localhost:8080"));
  EXPECT_FALSE(IsSameOrigin("null", "localhost:8080"));
  EXPECT_TRUE(IsSameOrigin("https://gpu7:8080", "gpu7:8080", true));
  EXPECT_FALSE(IsSameOrigin("http://gpu7:8080", "gpu7:8080", true));
}

TEST(OriginPolicyTest, ReadsPeersAsGrpcWritesThem) {
  for (const char* peer :
       {"ipv4:127.0.0.1:1234", "ipv6:[::1]:1234", "ipv6:%5B::1%5D:1234",
        "unix:/tmp/socket", "unix:"}) {
    EXPECT_TRUE(IsLoopbackPeer(peer)) << peer;
  }
  for (const char* peer : {"", "ipv4:10.0.0.1:1234", "ipv6:[2001:db8::1]:1",
                           "ipv6:%5B2001:db8::1%5D:1", "127.0.0.1:1234"}) {
    EXPECT_FALSE(IsLoopbackPeer(peer)) << peer;
  }
}

}  // namespace
}  // namespace graphdbg::auth
