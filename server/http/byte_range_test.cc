#include "server/http/byte_range.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace graphdbg::http {
namespace {

// The bytes that the header asks for of a body of 10: "2-5", "none" if it has
// none of them, "all" if the header is ignored.
std::string Of(std::string_view header) {
  const auto asked = ParseRange(header);
  if (!asked) return "all";
  const auto range = asked->In(10);
  return range ? absl::StrCat(range->begin, "-", range->end) : "none";
}

TEST(ByteRangeTest, ReadsOneRange) {
  EXPECT_EQ(Of("bytes=2-4"), "2-5");
  EXPECT_EQ(Of("Bytes= 0-0 "), "0-1");
  EXPECT_EQ(Of("bytes=7-"), "7-10");
  EXPECT_EQ(Of("bytes=-3"), "7-10");
}

TEST(ByteRangeTest, EndsWithTheBody) {
  EXPECT_EQ(Of("bytes=9-100"), "9-10");
  EXPECT_EQ(Of("bytes=0-18446744073709551615"), "0-10");
  EXPECT_EQ(Of("bytes=-100"), "0-10");
}

TEST(ByteRangeTest, TellsIfThereAreNoSuchBytes) {
  EXPECT_EQ(Of("bytes=10-"), "none");
  EXPECT_EQ(Of("bytes=18446744073709551615-"), "none");
  EXPECT_EQ(Of("bytes=-0"), "none");
  EXPECT_FALSE(ParseRange("bytes=0-")->In(0));
  EXPECT_FALSE(ParseRange("bytes=-5")->In(0));
}

TEST(ByteRangeTest, IgnoresWhatItDoesNotServe) {
  for (const char* header :
       {"", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=0-1,4-5",
        "items=0-1", "bytes=a-b", "bytes=+1-2", "bytes=0--1", "bytes=1 -2",
        "bytes=0-18446744073709551616"}) {
    EXPECT_EQ(Of(header), "all") << header;
  }
}

TEST(ByteRangeTest, NothingIsKnownToBeUnchanged) {
  Request request;
  request.headers.Set("Range", "bytes=0-1");
  EXPECT_TRUE(AskedRangeOf(request));
  request.headers.Set("If-Range", "\"tag\"");
  EXPECT_FALSE(AskedRangeOf(request));
}

TEST(ByteRangeTest, ResponsesNameTheRange) {
  Response response;
  SetRange({2, 5}, 10, response);
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(response.headers.Get("Content-Range"), "bytes 2-4/10");
  const Response none = NoSuchRange(10);
  EXPECT_EQ(none.status, 416);
  EXPECT_EQ(none.headers.Get("Content-Range"), "bytes */10");
}

}  // namespace
}  // namespace graphdbg::http
