#include "agent/core/outbox.h"

#include <future>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;

v1::Hit HitOf(uint64_t order) {
  v1::Hit hit;
  hit.set_order(order);
  return hit;
}

v1::AgentMessage MustTake(Outbox* outbox) {
  v1::AgentMessage message;
  EXPECT_EQ(outbox->Take(&message), Outbox::Next::kMessage);
  return message;
}

TEST(OutboxTest, GivesMessagesInOrder) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutHit(HitOf(1));
  v1::StateUpdate state;
  state.set_step(5);
  outbox.PutState(state);
  EXPECT_EQ(MustTake(&outbox).hit().order(), 1u);
  EXPECT_EQ(MustTake(&outbox).state().step(), 5u);
}

v1::StateUpdate RunningAt(uint64_t step, uint64_t pauses_after = 0) {
  v1::StateUpdate state;
  state.set_state(v1::RUN_STATE_RUNNING);
  state.set_step(step);
  state.set_pauses_after(pauses_after);
  return state;
}

v1::StateUpdate PausedAt(uint64_t step) {
  v1::StateUpdate state;
  state.set_state(v1::RUN_STATE_PAUSED);
  state.set_step(step);
  return state;
}

TEST(OutboxTest, StepsThatWaitAreOneMessage) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutState(RunningAt(1));
  EXPECT_EQ(MustTake(&outbox).state().step(), 1u);
  for (uint64_t step = 2; step <= 1'000; ++step) {
    outbox.PutState(RunningAt(step));
  }
  outbox.PutHit(HitOf(7));
  outbox.PutState(RunningAt(1'001));
  outbox.PutState(PausedAt(1'001));
  outbox.PutState(RunningAt(1'002));
  outbox.PutState(RunningAt(1'003));
  EXPECT_EQ(MustTake(&outbox).state().step(), 1'001u);
  EXPECT_TRUE(MustTake(&outbox).has_hit());
  EXPECT_EQ(MustTake(&outbox).state().state(), v1::RUN_STATE_PAUSED);
  EXPECT_EQ(MustTake(&outbox).state().step(), 1'003u);
}

TEST(OutboxTest, NoStepHidesWhereThePauseTakesEffect) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutState(RunningAt(4));
  outbox.PutState(RunningAt(4, /*pauses_after=*/5));
  outbox.PutState(RunningAt(5));
  EXPECT_EQ(MustTake(&outbox).state().pauses_after(), 5u);
  EXPECT_EQ(MustTake(&outbox).state().step(), 5u);
}

TEST(OutboxTest, AStreamThatEndsLeavesNoStepBehind) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutState(RunningAt(4));
  outbox.EndStream();
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutState(RunningAt(5));
  EXPECT_EQ(MustTake(&outbox).state().step(), 5u);
}

TEST(OutboxTest, WaitsUntilTheStreamIsWelcome) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.PutHit(HitOf(1));
  auto taken =
      std::async(std::launch::async, [&] { return MustTake(&outbox); });
  outbox.BeginStream({});
  EXPECT_EQ(taken.get().hit().order(), 1u);
}

TEST(OutboxTest, HitsOutliveAStreamAndStatesDoNot) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutState({});
  outbox.PutHit(HitOf(1));
  outbox.EndStream();
  outbox.PutState({});
  outbox.PutHit(HitOf(2));
  v1::AgentMessage message;
  EXPECT_EQ(outbox.Take(&message), Outbox::Next::kEnd);
  outbox.OpenStream();
  outbox.BeginStream({});
  EXPECT_EQ(MustTake(&outbox).hit().order(), 1u);
  EXPECT_EQ(MustTake(&outbox).hit().order(), 2u);
}

TEST(OutboxTest, AHitThatWasNotSentComesAgain) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutHit(HitOf(1));
  outbox.PutHit(HitOf(2));
  outbox.PutBack(MustTake(&outbox));
  EXPECT_EQ(MustTake(&outbox).hit().order(), 1u);
}

TEST(OutboxTest, HitsThatWereNotConfirmedComeAgain) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true});
  for (uint64_t order = 1; order <= 4; ++order) outbox.PutHit(HitOf(order));
  for (uint64_t number = 1; number <= 3; ++number) {
    EXPECT_EQ(MustTake(&outbox).hit().number(), number);
  }
  outbox.Confirm(1);
  outbox.EndStream();
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true});
  for (uint64_t number = 2; number <= 4; ++number) {
    const v1::AgentMessage again = MustTake(&outbox);
    EXPECT_EQ(again.hit().number(), number);
    EXPECT_EQ(again.hit().order(), number);
  }
  outbox.Confirm(4);
  outbox.EndStream();
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true});
  outbox.PutHit(HitOf(5));
  EXPECT_EQ(MustTake(&outbox).hit().number(), 5u);
}

TEST(OutboxTest, AHitThatWasNotSentComesAgainOnceWhereHitsAreConfirmed) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true});
  outbox.PutHit(HitOf(1));
  const v1::AgentMessage taken = MustTake(&outbox);
  outbox.EndStream();
  outbox.PutBack(taken);
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true});
  outbox.PutHit(HitOf(2));
  EXPECT_EQ(MustTake(&outbox).hit().number(), 1u);
  EXPECT_EQ(MustTake(&outbox).hit().number(), 2u);
}

TEST(OutboxTest, HitsBeyondTheLimitAreCountedNotForgotten) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  for (size_t i = 0; i < Outbox::kMaxHits + 7; ++i) outbox.PutHit(HitOf(i));
  size_t hits = 0;
  v1::AgentMessage message;
  do {
    message = MustTake(&outbox);
    hits += message.has_hit() ? 1 : 0;
  } while (message.has_hit());
  EXPECT_THAT(message.log().message(), HasSubstr("7 hits were not recorded"));
  EXPECT_EQ(message.log().dropped_hits(), 7u);
  EXPECT_GT(hits, 0u);
}

TEST(OutboxTest, TensorsWaitForRoomAndForTheirOwnStreamOnly) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  v1::TensorData piece;
  piece.set_data(std::string(Outbox::kMaxTensorBytes, 'x'));
  EXPECT_TRUE(outbox.PutTensor(piece, outbox.stream()));
  auto second = std::async(std::launch::async,
                           [&] { return outbox.PutTensor(piece, 1); });
  EXPECT_TRUE(MustTake(&outbox).has_tensor());
  EXPECT_TRUE(second.get());
  auto third = std::async(std::launch::async,
                          [&] { return outbox.PutTensor(piece, 1); });
  outbox.EndStream();
  EXPECT_FALSE(third.get());
  EXPECT_FALSE(outbox.PutTensor(piece, 1));
}

TEST(OutboxTest, WhatItIsWokenForGoesBeforeMessages) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutHit(HitOf(1));
  outbox.Wake();
  v1::AgentMessage message;
  EXPECT_EQ(outbox.Take(&message), Outbox::Next::kWoken);
  EXPECT_EQ(outbox.Take(&message), Outbox::Next::kMessage);
}

TEST(OutboxTest, NothingComesAfterTheGoodbye) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({});
  outbox.PutHit(HitOf(1));
  outbox.PutGoodbye({});
  outbox.PutHit(HitOf(2));
  EXPECT_TRUE(MustTake(&outbox).has_hit());
  EXPECT_TRUE(MustTake(&outbox).has_goodbye());
  v1::AgentMessage message;
  EXPECT_EQ(outbox.Take(&message), Outbox::Next::kEnd);
}

TEST(OutboxTest, StatisticsAreLeftOutRatherThanPiledUp) {
  Outbox outbox;
  v1::StatisticsReport report;
  outbox.PutStatistics(report);
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true, /*takes_statistics=*/true});
  for (uint64_t step = 1; step <= Outbox::kMaxStatistics + 6; ++step) {
    report.set_step(step);
    outbox.PutStatistics(report);
  }
  outbox.PutHit(HitOf(1));
  for (uint64_t step = 1; step <= Outbox::kMaxStatistics; ++step) {
    EXPECT_EQ(MustTake(&outbox).statistics().step(), step);
  }
  EXPECT_TRUE(MustTake(&outbox).has_hit());
  report.set_step(100);
  outbox.PutStatistics(report);
  outbox.PutHit(HitOf(2));
  EXPECT_EQ(MustTake(&outbox).statistics().step(), 100u);
  EXPECT_TRUE(MustTake(&outbox).has_hit());
  // Neither for a stream that has ended, nor for a server that does not accept
  // them.
  outbox.PutStatistics(report);
  outbox.EndStream();
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/false, /*takes_statistics=*/false});
  outbox.PutStatistics(report);
  outbox.PutHit(HitOf(3));
  EXPECT_EQ(MustTake(&outbox).hit().order(), 1u);
  EXPECT_EQ(MustTake(&outbox).hit().order(), 2u);
  EXPECT_EQ(MustTake(&outbox).hit().order(), 3u);
}

TEST(OutboxTest, StatisticsOfManyTensorsAreLeftOutSooner) {
  Outbox outbox;
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true, /*takes_statistics=*/true});
  v1::StatisticsReport report;
  for (size_t i = 0; i < Outbox::kMaxStatisticTensors; ++i) {
    report.add_tensors();
  }
  for (uint64_t step = 1; step <= 2; ++step) {
    report.set_step(step);
    outbox.PutStatistics(report);
  }
  outbox.PutHit(HitOf(1));
  EXPECT_EQ(MustTake(&outbox).statistics().step(), 1u);
  EXPECT_TRUE(MustTake(&outbox).has_hit());
  report.set_step(3);
  outbox.PutStatistics(report);
  EXPECT_EQ(MustTake(&outbox).statistics().step(), 3u);
}

TEST(OutboxTest, StatisticsOfShortStepsWaitForEachOther) {
  Outbox outbox(/*gathers=*/std::chrono::hours(1));
  outbox.OpenStream();
  outbox.BeginStream({/*confirms_hits=*/true, /*takes_statistics=*/true});
  v1::StatisticsReport report;
  const auto put = [&](uint64_t step) {
    report.set_step(step);
    outbox.PutStatistics(report);
  };
  put(1);
  EXPECT_EQ(MustTake(&outbox).statistics().step(), 1u);

  put(2);
  auto taken = std::async([&] { return MustTake(&outbox); });
  put(3);
  EXPECT_EQ(taken.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  // Other messages do not wait.
  outbox.PutHit(HitOf(1));
  EXPECT_EQ(taken.get().statistics().step(), 2u);
  EXPECT_EQ(MustTake(&outbox).statistics().step(), 3u);
  EXPECT_TRUE(MustTake(&outbox).has_hit());

  taken = std::async([&] { return MustTake(&outbox); });
  for (uint64_t step = 1; step <= Outbox::kMaxStatistics; ++step) put(step);
  EXPECT_EQ(taken.get().statistics().step(), 1u);
  // Then all leave.
  for (uint64_t step = 2; step <= Outbox::kMaxStatistics; ++step) {
    EXPECT_TRUE(outbox.HasMessage());
    EXPECT_EQ(MustTake(&outbox).statistics().step(), step);
  }
  EXPECT_FALSE(outbox.HasMessage());
  // Others wait for each other again.
  put(100);
  EXPECT_FALSE(outbox.HasMessage());
  outbox.PutHit(HitOf(2));
  EXPECT_TRUE(outbox.HasMessage());
}

}  // namespace
}  // namespace graphdbg::agent
