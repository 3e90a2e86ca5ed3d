#include "agent/core/step_cost.h"

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class StepCostTest : public testing::Test {
 protected:
  void Steps(int count, bool recorded, milliseconds duration) {
    for (int i = 0; i < count; ++i) cost_.AddStep(recorded, duration);
  }

  StepCost cost_;
};

TEST_F(StepCostTest, IsEstimatedFromOpsAtFirst) {
  EXPECT_EQ(cost_.Of(milliseconds(1), 0), milliseconds(1));
  EXPECT_EQ(cost_.Of(milliseconds(1), 100), microseconds(1200));
  Steps(100, true, milliseconds(10));
  EXPECT_EQ(cost_.Of(milliseconds(1), 100), microseconds(1200));
}

TEST_F(StepCostTest, IsTheDifferenceToStepsThatAreNotRecorded) {
  Steps(20, true, milliseconds(13));
  Steps(20, false, milliseconds(10));
  EXPECT_EQ(cost_.Of(milliseconds(1), 100), milliseconds(3));
  EXPECT_EQ(cost_.Of(milliseconds(4), 100), milliseconds(4));
}

TEST_F(StepCostTest, IncludesWhatTheNextStepTakesLonger) {
  for (int i = 0; i < 20; ++i) {
    Steps(1, true, milliseconds(13));
    Steps(1, false, milliseconds(11));
    Steps(2, false, milliseconds(10));
  }
  EXPECT_EQ(cost_.Of(milliseconds(1), 1000), milliseconds(4));
}

TEST_F(StepCostTest, IncludesWhatFurtherStepsTakeLonger) {
  for (int i = 0; i < 20; ++i) {
    Steps(1, true, milliseconds(19));
    Steps(1, false, milliseconds(13));
    Steps(1, false, milliseconds(11));
    // Shorter by chance, which does not count.
    Steps(1, false, milliseconds(9));
    Steps(7, false, milliseconds(10));
  }
  EXPECT_EQ(cost_.Of(milliseconds(1), 1000), milliseconds(9 + 3 + 1));
}

TEST_F(StepCostTest, ComparesWithTheNextStepIfThereAreNoOthers) {
  for (int i = 0; i < 20; ++i) {
    Steps(1, true, milliseconds(13));
    Steps(1, false, milliseconds(11));
  }
  EXPECT_EQ(cost_.Of(milliseconds(1), 1000), milliseconds(2));
}

TEST_F(StepCostTest, FollowsAProgramThatGetsSlower) {
  Steps(20, true, milliseconds(13));
  Steps(20, false, milliseconds(10));
  Steps(40, true, milliseconds(27));
  Steps(40, false, milliseconds(20));
  EXPECT_EQ(cost_.Of(milliseconds(1), 1000), milliseconds(7));
}

TEST_F(StepCostTest, IsNotMisledByRareStops) {
  Steps(20, true, milliseconds(13));
  Steps(2, true, milliseconds(60'000));
  Steps(20, false, milliseconds(10));
  Steps(2, false, milliseconds(60'000));
  EXPECT_EQ(cost_.Of(milliseconds(1), 100), milliseconds(3));
}

TEST_F(StepCostTest, IsThatOfHalfOfTheSteps) {
  // What makes every third recorded step longer does not count.
  for (int i = 0; i < 20; ++i) {
    Steps(2, true, milliseconds(13));
    Steps(1, true, milliseconds(90));
  }
  Steps(20, false, milliseconds(10));
  EXPECT_EQ(cost_.Of(milliseconds(1), 1000), milliseconds(3));
}

TEST_F(StepCostTest, IsBoundedIfAUserStopsInMostRecordedSteps) {
  Steps(20, true, milliseconds(60'000));
  Steps(20, false, milliseconds(10));
  EXPECT_EQ(cost_.Of(milliseconds(1), 100), milliseconds(3));
}

}  // namespace
}  // namespace graphdbg::agent
