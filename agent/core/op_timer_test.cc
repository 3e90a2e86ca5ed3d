#include "agent/core/op_timer.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using Clock = OpTimer::Clock;

class OpTimerTest : public testing::Test {
 protected:
  OpTimerTest() { timer_.SetWanted(true); }

  void Op(uint32_t node) {
    timer_.Begin(node);
    timer_.End();
  }

  OpTimer timer_;
};

TEST_F(OpTimerTest, OpsHaveTheirTimeSinceTheStepBegan) {
  const Clock::time_point before = Clock::now();
  timer_.BeginStep(before - seconds(5));
  Op(3);
  Op(4);
  const uint64_t most = static_cast<uint64_t>(
      OpTimer::Nanoseconds(Clock::now() - before + seconds(5)).count());
  const v1::OpTimes times = timer_.EndStep(Clock::now());
  EXPECT_THAT(times.node_ids(), ElementsAre(3, 4));
  EXPECT_THAT(times.threads(), ElementsAre(0, 0));
  EXPECT_GE(times.start_ns(0), 5'000'000'000u);
  EXPECT_GE(times.start_ns(1), times.start_ns(0) + times.duration_ns(0));
  EXPECT_LE(times.start_ns(1) + times.duration_ns(1), most);
  EXPECT_EQ(times.left_out(), 0u);
}

TEST_F(OpTimerTest, WhatTheAgentDoesWithinAnOpDoesNotCount) {
  timer_.BeginStep(Clock::now());
  timer_.Exclude(seconds(1));  // In no op.
  timer_.Begin(1);
  timer_.Exclude(hours(1));
  timer_.End();
  EXPECT_THAT(timer_.EndStep(Clock::now()).duration_ns(), ElementsAre(0));
}

TEST_F(OpTimerTest, ThreadsAreNumberedInEachStep) {
  for (int step = 0; step < 2; ++step) {
    timer_.BeginStep(Clock::now());
    Op(1);
    std::thread([this] { Op(2); }).join();
    Op(3);
    const v1::OpTimes times = timer_.EndStep(Clock::now());
    EXPECT_THAT(times.node_ids(), ElementsAre(1, 2, 3));
    EXPECT_THAT(times.threads(), ElementsAre(0, 1, 0));
  }
}

TEST_F(OpTimerTest, AnOpThatBeganInAnotherStepIsLeftOut) {
  timer_.BeginStep(Clock::now());
  timer_.Begin(1);
  timer_.BeginStep(Clock::now());
  timer_.End();
  Op(2);
  EXPECT_THAT(timer_.EndStep(Clock::now()).node_ids(), ElementsAre(2));
}

TEST_F(OpTimerTest, OpsBeyondTheLimitAreCounted) {
  timer_.BeginStep(Clock::now());
  for (int i = 0; i < wire::kMaxOverviewOps + 7; ++i) Op(1);
  const v1::OpTimes times = timer_.EndStep(Clock::now());
  EXPECT_EQ(times.node_ids_size(), wire::kMaxOverviewOps);
  EXPECT_EQ(times.left_out(), 7u);
}

TEST_F(OpTimerTest, StepsWithManyOpsAreNotAllTimed) {
  const Clock::time_point start = Clock::now();
  int timed = 0;
  // Three seconds, in steps of 50 ms with 10,000 ops.
  for (int step = 0; step < 60; ++step) {
    const Clock::time_point begin =
        start + std::chrono::milliseconds(50) * step;
    timer_.BeginStep(begin);
    if (!timer_.on()) continue;
    ++timed;
    for (int i = 0; i < wire::kMaxOverviewOps; ++i) Op(1);
    timer_.EndStep(begin + std::chrono::milliseconds(50));
  }
  // 20,000 ops a second, and those that may come at once.
  EXPECT_GE(timed, 6);
  EXPECT_LE(timed, 9);
}

TEST_F(OpTimerTest, NothingIsTimedUnlessItIsWanted) {
  timer_.SetWanted(false);
  timer_.BeginStep(Clock::now());
  EXPECT_FALSE(timer_.on());
  timer_.SetWanted(true);
  EXPECT_FALSE(timer_.on());
  timer_.BeginStep(Clock::now());
  EXPECT_TRUE(timer_.on());
}

}  // namespace
}  // namespace graphdbg::agent
