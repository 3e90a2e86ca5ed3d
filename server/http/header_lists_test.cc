#include "server/http/header_lists.h"

#include <gtest/gtest.h>

namespace graphdbg::http {
namespace {

TEST(ListsTokenTest, ReadsListsWithQualities) {
  EXPECT_TRUE(ListsToken("gzip, br;q=0.5", "br"));
  EXPECT_TRUE(ListsToken("GZIP", "gzip"));
  EXPECT_FALSE(ListsToken("br;q=0, gzip", "br"));
  EXPECT_FALSE(ListsToken("br; Q=0.000", "br"));
  EXPECT_FALSE(ListsToken("brotli", "br"));
  EXPECT_FALSE(ListsToken("", "br"));
}

TEST(MatchesEtagTest, IgnoresWeakness) {
  EXPECT_TRUE(MatchesEtag("\"a\", W/\"b\"", "\"b\""));
  EXPECT_TRUE(MatchesEtag(" * ", "\"b\""));
  EXPECT_FALSE(MatchesEtag("\"a\"", "\"b\""));
  EXPECT_FALSE(MatchesEtag("", "\"b\""));
}

}  // namespace
}  // namespace graphdbg::http
