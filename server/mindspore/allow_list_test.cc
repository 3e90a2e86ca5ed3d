#include "server/mindspore/allow_list.h"

#include <gtest/gtest.h>

#include <string>

namespace graphdbg::mindspore {
namespace {

TEST(AllowListTest, ThisMachineMayAlwaysCome) {
  const AllowList none;
  EXPECT_TRUE(none.Allows("127.0.0.1"));
  EXPECT_TRUE(none.Allows("127.3.2.1"));
  EXPECT_TRUE(none.Allows("::1"));
  EXPECT_TRUE(none.Allows("::ffff:127.0.0.1"));
  EXPECT_FALSE(none.Allows("128.0.0.1"));
  EXPECT_FALSE(none.Allows("::2"));
  EXPECT_FALSE(none.Allows("localhost"));
  EXPECT_FALSE(none.Allows(""));
}

TEST(AllowListTest, NetworksAndAddresses) {
  auto list = AllowList::Parse("10.1.0.0/16,192.168.7.5,fd00::/8,10.9.8.6/31");
  ASSERT_TRUE(list.ok()) << list.status();
  for (const char* host : {"10.1.0.0", "10.1.255.255", "192.168.7.5", "fd12::7",
                           "::ffff:10.1.2.3", "10.9.8.7", "127.0.0.1"}) {
    EXPECT_TRUE(list->Allows(host)) << host;
  }
  for (const char* host : {"10.2.0.0", "10.0.255.255", "192.168.7.4", "fe00::1",
                           "10.9.8.8", "10.9.8.5", "a01::"}) {
    EXPECT_FALSE(list->Allows(host)) << host;
  }
}

TEST(AllowListTest, EverybodyHasToBeSaidAsSuch) {
  EXPECT_TRUE(AllowList::Parse("0.0.0.0/0")->Allows("8.8.8.8"));
  EXPECT_FALSE(AllowList::Parse("0.0.0.0/0")->Allows("2001:db8::1"));
  EXPECT_TRUE(AllowList::Parse("::/0")->Allows("8.8.8.8"));
}

TEST(AllowListTest, WhatIsWrongIsNamed) {
  for (const char* text :
       {"", "10.1", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "fd00::/129",
        "node7", "10.0.0.1,,10.0.0.2", "10.0.0.1, 10.0.0.2"}) {
    EXPECT_FALSE(AllowList::Parse(text).ok()) << text;
  }
  const auto named = AllowList::Parse("10.0.0.1,node7").status();
  EXPECT_NE(std::string(named.message()).find("'node7'"), std::string::npos);
}

}  // namespace
}  // namespace graphdbg::mindspore
