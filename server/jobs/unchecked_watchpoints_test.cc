#include "server/jobs/unchecked_watchpoints.h"

#include <gtest/gtest.h>

namespace graphdbg::jobs {
namespace {

TEST(UncheckedWatchpointsTest, ReportsWhetherAChangeMatters) {
  UncheckedWatchpoints unchecked;
  EXPECT_FALSE(unchecked.OnChanged(3, false));
  EXPECT_TRUE(unchecked.OnChanged(3, true));
  EXPECT_FALSE(unchecked.OnChanged(3, true));
  EXPECT_TRUE(unchecked.OnChanged(3, false));
  EXPECT_TRUE(unchecked.ids().empty());
}

TEST(UncheckedWatchpointsTest, GivesIdsOnce) {
  UncheckedWatchpoints unchecked;
  unchecked.OnChanged(5, true);
  unchecked.OnChanged(2, true);
  EXPECT_EQ(unchecked.Take(), (std::vector<uint32_t>{2, 5}));
  EXPECT_TRUE(unchecked.Take().empty());
}

}  // namespace
}  // namespace graphdbg::jobs
