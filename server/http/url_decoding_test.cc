#include "server/http/url_decoding.h"

#include <gtest/gtest.h>

namespace graphdbg::http {
namespace {

TEST(PercentDecodeTest, DecodesBytesAndPlus) {
  EXPECT_EQ(PercentDecode("a%2Fb%c3%A9+c", false), "a/b\xc3\xa9+c");
  EXPECT_EQ(PercentDecode("a+b", true), "a b");
  EXPECT_EQ(PercentDecode("", true), "");
}

TEST(PercentDecodeTest, RejectsMalformedEscapesAndNul) {
  for (const char* text : {"%", "%4", "%zz", "100%", "a%4", "%00"}) {
    EXPECT_EQ(PercentDecode(text, false), std::nullopt) << text;
  }
}

TEST(ParseQueryTest, KeepsOrderRepetitionsAndEmptyValues) {
  QueryPairs expected = {{"a", "1"}, {"b", ""}, {"a", "x=y"}, {"c", ""}};
  EXPECT_EQ(ParseQuery("a=1&b=&a=x=y&&c"), expected);
  EXPECT_EQ(ParseQuery(""), QueryPairs());
  EXPECT_EQ(ParseQuery("a=%g1"), std::nullopt);
}

// curl and browsers send these characters as they are.
TEST(ParseQueryTest, AcceptsCharactersThatNeedNoEscapeInPractice) {
  QueryPairs expected = {{"slice", "[0,:]"}, {"q", "a|b caf\xc3\xa9"}};
  EXPECT_EQ(ParseQuery("slice=[0,:]&q=a|b+caf\xc3\xa9"), expected);
}

}  // namespace
}  // namespace graphdbg::http
