#include "server/jobs/watchpoint_actions.h"

#include <gtest/gtest.h>

namespace graphdbg::jobs {
namespace {

class WatchpointActionsTest : public ::testing::Test {
 protected:
  bool Begins(uint32_t watchpoint, uint64_t step) {
    model::Hit hit;
    hit.watchpoint = watchpoint;
    hit.step = step;
    return actions_.Begins(hit);
  }

  WatchpointActions actions_;
};

TEST_F(WatchpointActionsTest, AnEpisodeBeginsAfterStepsWithoutHits) {
  EXPECT_TRUE(Begins(1, 5));
  EXPECT_FALSE(Begins(1, 5));
  EXPECT_FALSE(Begins(1, 15));
  EXPECT_FALSE(Begins(1, 25));
  EXPECT_TRUE(Begins(1, 36));
}

TEST_F(WatchpointActionsTest, EachWatchpointHasItsOwn) {
  EXPECT_TRUE(Begins(1, 5));
  EXPECT_TRUE(Begins(2, 5));
  EXPECT_FALSE(Begins(1, 6));
}

TEST_F(WatchpointActionsTest, RanksMayBeBehindAndProcessesStartAgain) {
  EXPECT_TRUE(Begins(1, 50));
  EXPECT_FALSE(Begins(1, 47));
  EXPECT_TRUE(Begins(1, 2));
}

}  // namespace
}  // namespace graphdbg::jobs
