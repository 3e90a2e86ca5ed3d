#include "server/base/gzip.h"

#include <gtest/gtest.h>

namespace graphdbg {
namespace {

TEST(GzipTest, RestoresTheInput) {
  std::string varied;
  for (uint32_t i = 0; varied.size() < 3'000'000; ++i) {
    varied += std::to_string(i * 2654435761u);
  }
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1 << 20, '\0'), varied}) {
    const std::string gzip = Gzip(text);
    EXPECT_EQ(gzip.substr(0, 2), "\x1f\x8b");
    auto back = Gunzip(gzip, text.size());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == text) << text.size();
  }
  EXPECT_LT(Gzip(varied).size(), varied.size());
}

TEST(GzipTest, RefusesInvalidOrOversizedInput) {
  const std::string gzip = Gzip(std::string(1000, 'x'));
  EXPECT_FALSE(Gunzip(gzip, 999).ok());
  EXPECT_FALSE(Gunzip(gzip.substr(0, gzip.size() - 1), 1000).ok());
  EXPECT_FALSE(Gunzip("plain text", 1000).ok());
  EXPECT_FALSE(Gunzip("", 1000).ok());
}

}  // namespace
}  // namespace graphdbg
