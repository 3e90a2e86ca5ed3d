#include "server/base/steady_flag.h"

#include <gtest/gtest.h>

#include <thread>

namespace graphdbg {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(SteadyFlagTest, WaitsUntilTheTimeIsOver) {
  SteadyFlag flag;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(flag.WaitFor(milliseconds(20)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
}

TEST(SteadyFlagTest, SettingItEndsTheWait) {
  SteadyFlag flag;
  std::thread other([&flag] { flag.Set(); });
  EXPECT_TRUE(flag.WaitFor(hours(1)));
  other.join();
  // It stays set.
  EXPECT_TRUE(flag.WaitFor(hours(1)));
  EXPECT_TRUE(flag.WaitFor(milliseconds(0)));
}

}  // namespace
}  // namespace graphdbg
