#include "server/main/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace graphdbg {
namespace {

TEST(DescriptorLimitTest, TheSoftLimitBecomesTheHardLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), limit.rlim_max);
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
}

}  // namespace
}  // namespace graphdbg
