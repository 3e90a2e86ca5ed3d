#include "server/jobs/combined_state.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace graphdbg::jobs {
namespace {

RunState In(model::JobState state, uint64_t step = 0,
            model::PauseReason reason = model::PauseReason::kNone,
            std::string node = "") {
  RunState run;
  run.state = state;
  run.step = step;
  run.reason = reason;
  run.node = std::move(node);
  return run;
}

CombinedState Of(const std::vector<RunState>& ranks) {
  CombinedState combined;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    combined.Add(rank, ranks[rank]);
  }
  return combined;
}

// As a job shows it, with the node of the most informative rank.
RunState Combine(const std::vector<RunState>& ranks) {
  const CombinedState combined = Of(ranks);
  RunState job = combined.Get();
  if (job.state == model::JobState::kPaused) {
    job.node = ranks[combined.MostInformative()].node;
  }
  return job;
}

model::JobState Of(const std::vector<model::JobState>& states) {
  std::vector<RunState> ranks;
  for (model::JobState state : states) ranks.push_back(In(state));
  return Combine(ranks).state;
}

constexpr model::JobState kConnecting = model::JobState::kConnecting;
constexpr model::JobState kPaused = model::JobState::kPaused;
constexpr model::JobState kRunning = model::JobState::kRunning;
constexpr model::JobState kPausing = model::JobState::kPausing;
constexpr model::JobState kFinished = model::JobState::kFinished;
constexpr model::JobState kTerminated = model::JobState::kTerminated;
constexpr model::JobState kLost = model::JobState::kLost;

TEST(CombinedStateTest, FollowsTheLiveRanks) {
  EXPECT_EQ(CombinedState().Get().state, kConnecting);
  EXPECT_EQ(Of({kPaused}), kPaused);
  EXPECT_EQ(Of({kPaused, kPaused}), kPaused);
  EXPECT_EQ(Of({kPaused, kRunning}), kRunning);
  EXPECT_EQ(Of({kPaused, kConnecting}), kConnecting);
  EXPECT_EQ(Of({kPausing, kRunning}), kPausing);
  EXPECT_EQ(Of({kPausing, kPaused}), kPausing);
  EXPECT_EQ(Of({kFinished, kRunning}), kRunning);
  EXPECT_EQ(Of({kLost, kPaused}), kPaused);
}

TEST(CombinedStateTest, EndsWithTheWorstOutcomeWhenAllRanksHaveEnded) {
  EXPECT_EQ(Of({kFinished}), kFinished);
  EXPECT_EQ(Of({kFinished, kTerminated}), kTerminated);
  EXPECT_EQ(Of({kFinished, kTerminated, kLost}), kLost);
}

TEST(CombinedStateTest, ReportsTheMostInformativeReason) {
  RunState start = In(kPaused, 0, model::PauseReason::kStart);
  RunState hit = In(kPaused, 4, model::PauseReason::kWatchpoint, "forward/log");
  hit.stopped_by = {3, 1};
  RunState user = In(kPaused, 5, model::PauseReason::kUser, "forward/relu");
  const RunState job = Combine({start, hit, user});
  EXPECT_EQ(job.reason, model::PauseReason::kWatchpoint);
  EXPECT_EQ(job.node, "forward/log");
  EXPECT_EQ(job.step, 5u);
  EXPECT_EQ(job.stopped_by, (std::vector<uint32_t>{1, 3}));
}

TEST(CombinedStateTest, IsPausedOnceARankHasStoppedAtAnException) {
  RunState failed = In(kPaused, 3, model::PauseReason::kError, "forward/mm");
  RunState running = In(kRunning, 3, model::PauseReason::kNone);
  RunState pausing = In(kPausing, 2, model::PauseReason::kNone);
  const RunState job = Combine({running, failed, pausing});
  EXPECT_EQ(job.state, kPaused);
  EXPECT_EQ(job.reason, model::PauseReason::kError);
  EXPECT_EQ(job.node, "forward/mm");
}

// What was removed leaves nothing behind, in any order of changes.
TEST(CombinedStateTest, FollowsChangesAsIfItHadSeenOnlyTheLastStates) {
  std::mt19937 random(1);
  const auto any = [&](uint32_t below) {
    return static_cast<uint32_t>(random() % below);
  };
  std::vector<RunState> ranks(5);
  CombinedState combined = Of(ranks);
  for (int change = 0; change < 2'000; ++change) {
    const uint32_t rank = any(5);
    RunState next = In(static_cast<model::JobState>(any(7)), any(4));
    if (next.state == kPaused) {
      next.reason = static_cast<model::PauseReason>(any(7));
      next.stopped_by.resize(any(2), 1 + any(3));
    }
    combined.Remove(rank, ranks[rank]);
    combined.Add(rank, next);
    ranks[rank] = next;
    ASSERT_EQ(combined.Get(), Of(ranks).Get()) << change;
  }
}

}  // namespace
}  // namespace graphdbg::jobs
