#include "server/http/text.h"

#include <gtest/gtest.h>

#include "server/http/message.h"

namespace graphdbg::http {
namespace {

TEST(PercentDecodeTest, DecodesBytesAndPlus) {
  EXPECT_EQ(PercentDecode("a%2Fb%c3%A9+c", false), "a/b\xc3\xa9+c");
  EXPECT_EQ(PercentDecode("a+b", true), "a b");
}

TEST(PercentDecodeTest, RefusesWhatIsNotEncoded) {
  for (const char* text : {"%", "%4", "%zz", "100%", "%00"}) {
    EXPECT_EQ(PercentDecode(text, false), std::nullopt) << text;
  }
}

TEST(ParseQueryTest, KeepsOrderRepetitionsAndEmptyValues) {
  QueryPairs expected = {{"a", "1"}, {"b", ""}, {"a", "x=y"}, {"c", ""}};
  EXPECT_EQ(ParseQuery("a=1&b=&a=x=y&&c"), expected);
  EXPECT_EQ(ParseQuery(""), QueryPairs());
  EXPECT_EQ(ParseQuery("a=%g1"), std::nullopt);
}

TEST(ListsTokenTest, ReadsListsWithQualities) {
  EXPECT_TRUE(ListsToken("gzip, br;q=0.5", "br"));
  EXPECT_TRUE(ListsToken("GZIP", "gzip"));
  EXPECT_FALSE(ListsToken("br;q=0, gzip", "br"));
  EXPECT_FALSE(ListsToken("br;q=0.000", "br"));
  EXPECT_FALSE(ListsToken("brotli", "br"));
  EXPECT_FALSE(ListsToken("", "br"));
}

TEST(HeadersTest, NamesCompareWithoutCase) {
  Headers headers;
  headers.Set("Content-Type", "a");
  headers.Set("content-type", "b");
  EXPECT_EQ(headers.Get("CONTENT-TYPE"), "b");
  EXPECT_EQ(headers.fields().size(), 1u);
  EXPECT_TRUE(headers.Has("content-Type"));
  EXPECT_FALSE(headers.Has("Content"));
}

}  // namespace
}  // namespace graphdbg::http
