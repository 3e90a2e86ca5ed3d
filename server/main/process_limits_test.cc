#include "server/main/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace graphdbg {
namespace {

TEST(ProcessLimitsTest, TheSoftLimitBecomesTheHardLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), limit.rlim_max);
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
}

TEST(ProcessLimitsTest, CoreDumpsCanOnlyBeAllowedFromOutside) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  before.rlim_cur = before.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
  AvoidCoreDumps();
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 0u);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
}

}  // namespace
}  // namespace graphdbg
