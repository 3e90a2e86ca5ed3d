#include "agent/core/own_time.h"

#include <gtest/gtest.h>

#include <thread>

namespace graphdbg::agent {
namespace {

int64_t now = 0;
constexpr int64_t kStep = 1'000;

// Steps of which the given time is spent in the agent, including their end.
class OwnTimeTest : public testing::Test {
 protected:
  OwnTimeTest() { now = 1; }

  void Spend(int64_t time) {
    const InOwnCode outer(&time_);
    const InOwnCode inner(&time_);
    now += time;
  }

  void Step(int64_t spent) {
    now += kStep - spent;
    Spend(spent / 2);
    const InOwnCode end(&time_);
    now += spent - spent / 2;
    time_.EndStep(stops_);
  }

  void Steps(int count, int64_t spent) {
    for (int i = 0; i < count; ++i) Step(spent);
  }

  OwnTime time_{[] { return now; }};
  uint64_t stops_ = 0;
};

TEST_F(OwnTimeTest, IsUnknownAtFirst) {
  EXPECT_EQ(time_.share(), std::nullopt);
  Steps(17, 100);
  EXPECT_EQ(time_.share(), std::nullopt);
}

TEST_F(OwnTimeTest, IsTheShareOfAStepThatIsSpentInside) {
  Steps(18, 100);
  ASSERT_TRUE(time_.share().has_value());
  EXPECT_DOUBLE_EQ(*time_.share(), 0.1);
}

TEST_F(OwnTimeTest, IsTheMedianOfTheLastMeasuredSteps) {
  Steps(17 * 5 + 1, 100);
  Steps(17 * 4, 300);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.1);
  Steps(17 * 4, 300);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.3);
}

TEST_F(OwnTimeTest, LeavesOutStepsInWhichTheProgramStopped) {
  Steps(17, 100);
  ++stops_;
  Spend(1'000'000);
  Step(100);
  EXPECT_EQ(time_.share(), std::nullopt);
  Steps(17, 100);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.1);
}

TEST_F(OwnTimeTest, AddsTheTimeOfOtherThreads) {
  Steps(17, 100);
  std::thread([this] { Spend(200); }).join();
  now -= 200;
  Step(100);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.3);
}

TEST_F(OwnTimeTest, CountsAThreadThatEnteredBeforeFromTheBeginningOfTheStep) {
  time_.Enter();
  Steps(17, 0);
  now += 50;
  time_.Leave();
  now += 850;
  const InOwnCode end(&time_);
  now += 100;
  time_.EndStep(stops_);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.15);
}

TEST_F(OwnTimeTest, CountsUntilTheLastOfSeveralThatWereEnteredBeforeIsLeft) {
  time_.Enter();
  time_.Enter();
  Steps(17, 0);
  now += 50;
  time_.Leave();
  now += 30;
  time_.Leave();
  now += 820;
  const InOwnCode end(&time_);
  now += 100;
  time_.EndStep(stops_);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.18);
}

TEST_F(OwnTimeTest, ThreadsThatWereInsideWhenAMeasuredStepEndedAreCountedAnew) {
  Steps(17, 100);
  std::thread([this] {
    now += kStep - 100;
    time_.Enter();
    now += 100;
    // Only the first of these steps is measured.
    for (int i = 0; i < 17; ++i) {
      time_.EndStep(stops_);
      now += i < 16 ? kStep : 0;
    }
    time_.Leave();
    Spend(200);
  }).join();
  now -= 200;
  Step(100);
  EXPECT_DOUBLE_EQ(*time_.share(), 0.3);
}

TEST_F(OwnTimeTest, MeasuresEachOfLongSteps) {
  Step(0);
  for (int i = 0; i < 2; ++i) {
    now += 1'500'000'000;
    Spend(500'000'000);
    const InOwnCode end(&time_);
    time_.EndStep(stops_);
  }
  EXPECT_DOUBLE_EQ(*time_.share(), 0.25);
}

}  // namespace
}  // namespace graphdbg::agent
