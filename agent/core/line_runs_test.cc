#include "agent/core/line_runs.h"

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

class LineRunsTest : public testing::Test {
 protected:
  bool Begins(uint64_t order, uint32_t node, const char* name,
              uint32_t line = 3, uint64_t step = 1) {
    return runs_.Begins(step, order, node, name, "model.py", line);
  }

  LineRuns runs_;
};

TEST_F(LineRunsTest, OpsThatFollowEachOtherAreOneRun) {
  EXPECT_TRUE(Begins(1, 1, "forward/flatten"));
  EXPECT_FALSE(Begins(2, 2, "forward/fc/addmm"));
  EXPECT_FALSE(Begins(3, 3, "forward/relu"));
}

TEST_F(LineRunsTest, TheInnerScopeMayComeFirst) {
  EXPECT_TRUE(Begins(1, 1, "forward/fc/addmm"));
  EXPECT_FALSE(Begins(2, 2, "forward/relu"));
  EXPECT_FALSE(Begins(3, 3, "forward/other/mul"));
}

TEST_F(LineRunsTest, ALoopOverLayersIsARunForEach) {
  EXPECT_TRUE(Begins(1, 1, "forward/layers/0/addmm"));
  EXPECT_TRUE(Begins(2, 2, "forward/layers/1/addmm"));
  EXPECT_FALSE(Begins(3, 3, "forward/layers/1/relu"));
}

TEST_F(LineRunsTest, TheSameOpOrAnotherOpBetweenEndsARun) {
  EXPECT_TRUE(Begins(1, 1, "forward/relu"));
  EXPECT_TRUE(Begins(2, 1, "forward/relu"));
  EXPECT_TRUE(Begins(4, 2, "forward/relu_1"));
}

TEST_F(LineRunsTest, AnotherLineOrStepBeginsARun) {
  EXPECT_TRUE(Begins(1, 1, "forward/a"));
  EXPECT_TRUE(Begins(2, 2, "forward/b", 4));
  EXPECT_TRUE(Begins(3, 3, "forward/c", 4, 2));
}

}  // namespace
}  // namespace graphdbg::agent
