#include "server/http/message.h"

#include <gtest/gtest.h>

namespace graphdbg::http {
namespace {

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
