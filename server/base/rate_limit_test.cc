#include "server/base/rate_limit.h"

#include <gtest/gtest.h>

#include <chrono>

namespace graphdbg {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RateLimitTest, GrantsOneSecondsTokensAtOnceAndThenByTheClock) {
  const RateLimit::Clock::time_point start;
  RateLimit limit(1000, start);
  EXPECT_EQ(limit.Take(600, start), 600u);
  EXPECT_EQ(limit.Take(600, start), 400u);
  EXPECT_EQ(limit.Take(1, start), 0u);
  EXPECT_EQ(limit.Take(600, start + milliseconds(250)), 250u);
  EXPECT_EQ(limit.Take(5000, start + hours(1)), 1000u);
}

TEST(RateLimitTest, KeepsFractionsBetweenFrequentCalls) {
  const RateLimit::Clock::time_point start;
  RateLimit limit(1000, start);
  EXPECT_EQ(limit.Take(1000, start), 1000u);
  uint64_t taken = 0;
  for (int i = 1; i <= 100; ++i) {
    taken += limit.Take(1000, start + microseconds(100 * i));
  }
  EXPECT_EQ(taken, 10u);
}

}  // namespace
}  // namespace graphdbg
