#include "server/auth/embed_keys.h"

#include <gtest/gtest.h>

namespace graphdbg::auth {
namespace {

class EmbedKeysTest : public testing::Test {
 protected:
  EmbedKeys keys_;
  EmbedKeys::Clock::time_point now_{};
};

TEST_F(EmbedKeysTest, AKeyIsValidUntilItExpires) {
  const std::string key = *keys_.Issue(now_);
  EXPECT_NE(key, *keys_.Issue(now_));
  EXPECT_TRUE(keys_.IsValid(key, now_));
  EXPECT_TRUE(
      keys_.IsValid(key, now_ + kEmbedKeyLifetime - std::chrono::seconds(1)));
  EXPECT_FALSE(keys_.IsValid(key, now_ + kEmbedKeyLifetime));
}

TEST_F(EmbedKeysTest, OtherTextsAreNoKeys) {
  const std::string key = *keys_.Issue(now_);
  EXPECT_FALSE(keys_.IsValid("", now_));
  EXPECT_FALSE(keys_.IsValid(key + "a", now_));
  EXPECT_FALSE(keys_.IsValid(key.substr(1), now_));
}

TEST_F(EmbedKeysTest, TheOldestOfTooManyIsWithdrawn) {
  const std::string first = *keys_.Issue(now_);
  const std::string second = *keys_.Issue(now_);
  for (int i = 0; i < 63; ++i) ASSERT_TRUE(keys_.Issue(now_).ok());
  EXPECT_FALSE(keys_.IsValid(first, now_));
  EXPECT_TRUE(keys_.IsValid(second, now_));
}

}  // namespace
}  // namespace graphdbg::auth
