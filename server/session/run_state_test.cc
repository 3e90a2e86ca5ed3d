#include "server/session/run_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::session {
namespace {

RunState In(JobState state, uint64_t step = 0,
            PauseReason reason = PauseReason::kNone, std::string node = "") {
  RunState run;
  run.state = state;
  run.step = step;
  run.reason = reason;
  run.node = std::move(node);
  return run;
}

JobState Of(std::vector<JobState> states) {
  std::vector<RunState> runs;
  for (JobState state : states) runs.push_back(In(state));
  std::vector<const RunState*> ranks;
  for (const RunState& run : runs) ranks.push_back(&run);
  return Combine(ranks).state;
}

constexpr JobState kConnecting = JobState::kConnecting;
constexpr JobState kPaused = JobState::kPaused;
constexpr JobState kRunning = JobState::kRunning;
constexpr JobState kPausing = JobState::kPausing;
constexpr JobState kFinished = JobState::kFinished;
constexpr JobState kTerminated = JobState::kTerminated;
constexpr JobState kLost = JobState::kLost;

TEST(CombineTest, FollowsTheRanksThatAreAlive) {
  EXPECT_EQ(Of({}), kConnecting);
  EXPECT_EQ(Of({kPaused}), kPaused);
  EXPECT_EQ(Of({kPaused, kPaused}), kPaused);
  EXPECT_EQ(Of({kPaused, kRunning}), kRunning);
  EXPECT_EQ(Of({kPaused, kConnecting}), kConnecting);
  EXPECT_EQ(Of({kPausing, kRunning}), kPausing);
  EXPECT_EQ(Of({kPausing, kPaused}), kPausing);
  EXPECT_EQ(Of({kFinished, kRunning}), kRunning);
  EXPECT_EQ(Of({kLost, kPaused}), kPaused);
}

TEST(CombineTest, EndsWhenAllHaveEndedWithTheWorstOfTheirEnds) {
  EXPECT_EQ(Of({kFinished}), kFinished);
  EXPECT_EQ(Of({kFinished, kTerminated}), kTerminated);
  EXPECT_EQ(Of({kFinished, kTerminated, kLost}), kLost);
}

TEST(CombineTest, GivesTheReasonThatTellsMost) {
  RunState start = In(kPaused, 0, PauseReason::kStart);
  RunState hit = In(kPaused, 4, PauseReason::kWatchpoint, "forward/log");
  hit.stopped_by = {3, 1};
  RunState user = In(kPaused, 5, PauseReason::kUser, "forward/relu");
  const RunState job = Combine({&start, &hit, &user});
  EXPECT_EQ(job.reason, PauseReason::kWatchpoint);
  EXPECT_EQ(job.node, "forward/log");
  EXPECT_EQ(job.step, 5u);
  EXPECT_EQ(job.stopped_by, (std::vector<uint32_t>{1, 3}));
}

TEST(CheckControlTest, LetsEachStateTakeWhatFitsItAndNamesItOtherwise) {
  const std::vector<JobState> states = {
      kConnecting, kPaused, kRunning, kPausing, kFinished, kTerminated, kLost};
  struct Row {
    ControlVerb verb;
    // One letter for each of `states`: y or n.
    std::string fits;
  };
  const std::vector<Row> rows = {
      {ControlVerb::kContinue, "nynnnnn"},
      {ControlVerb::kStep, "nynnnnn"},
      {ControlVerb::kNextNode, "nynnnnn"},
      {ControlVerb::kContinueTo, "nynnnnn"},
      {ControlVerb::kPause, "nnynnnn"},
      {ControlVerb::kTerminate, "yyyynnn"},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < states.size(); ++i) {
      const absl::Status status = CheckControl(row.verb, states[i]);
      EXPECT_EQ(status.ok(), row.fits[i] == 'y')
          << Word(row.verb) << " while " << Word(states[i]);
      if (status.ok()) continue;
      EXPECT_EQ(ReasonOf(status), "invalid_state");
      EXPECT_NE(std::string(status.message()).find(Word(states[i])),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace graphdbg::session
