#include "server/jobs/run_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/model/enum_names.h"

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

model::JobState Of(std::vector<model::JobState> states) {
  std::vector<RunState> runs;
  for (model::JobState state : states) runs.push_back(In(state));
  std::vector<const RunState*> ranks;
  for (const RunState& run : runs) ranks.push_back(&run);
  return Combine(ranks).state;
}

constexpr model::JobState kConnecting = model::JobState::kConnecting;
constexpr model::JobState kPaused = model::JobState::kPaused;
constexpr model::JobState kRunning = model::JobState::kRunning;
constexpr model::JobState kPausing = model::JobState::kPausing;
constexpr model::JobState kFinished = model::JobState::kFinished;
constexpr model::JobState kTerminated = model::JobState::kTerminated;
constexpr model::JobState kLost = model::JobState::kLost;

TEST(CombineTest, FollowsTheLiveRanks) {
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

TEST(CombineTest, EndsWithTheWorstOutcomeWhenAllRanksHaveEnded) {
  EXPECT_EQ(Of({kFinished}), kFinished);
  EXPECT_EQ(Of({kFinished, kTerminated}), kTerminated);
  EXPECT_EQ(Of({kFinished, kTerminated, kLost}), kLost);
}

TEST(CombineTest, ReportsTheMostInformativeReason) {
  RunState start = In(kPaused, 0, model::PauseReason::kStart);
  RunState hit = In(kPaused, 4, model::PauseReason::kWatchpoint, "forward/log");
  hit.stopped_by = {3, 1};
  RunState user = In(kPaused, 5, model::PauseReason::kUser, "forward/relu");
  const RunState job = Combine({&start, &hit, &user});
  EXPECT_EQ(job.reason, model::PauseReason::kWatchpoint);
  EXPECT_EQ(job.node, "forward/log");
  EXPECT_EQ(job.step, 5u);
  EXPECT_EQ(job.stopped_by, (std::vector<uint32_t>{1, 3}));
}

TEST(CombineTest, IsPausedOnceARankHasStoppedAtAnException) {
  RunState failed = In(kPaused, 3, model::PauseReason::kError, "forward/mm");
  RunState running = In(kRunning, 3, model::PauseReason::kNone);
  RunState pausing = In(kPausing, 2, model::PauseReason::kNone);
  const RunState job = Combine({&running, &failed, &pausing});
  EXPECT_EQ(job.state, kPaused);
  EXPECT_EQ(job.reason, model::PauseReason::kError);
  EXPECT_EQ(job.node, "forward/mm");
}

TEST(CheckControlTest, AcceptsTheCommandsOfEachStateAndNamesTheStateOtherwise) {
  const std::vector<model::JobState> states = {
      kConnecting, kPaused, kRunning, kPausing, kFinished, kTerminated, kLost};
  struct Row {
    model::ControlVerb verb;
    // y or n for each entry of `states`.
    std::string fits;
  };
  const std::vector<Row> rows = {
      {model::ControlVerb::kContinue, "nynnnnn"},
      {model::ControlVerb::kStep, "nynnnnn"},
      {model::ControlVerb::kNextNode, "nynnnnn"},
      {model::ControlVerb::kContinueTo, "nynnnnn"},
      {model::ControlVerb::kPause, "nnynnnn"},
      {model::ControlVerb::kTerminate, "yyyynnn"},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < states.size(); ++i) {
      RunState run;
      run.state = states[i];
      const absl::Status status = CheckControl(row.verb, run);
      EXPECT_EQ(status.ok(), row.fits[i] == 'y')
          << model::ToString(row.verb) << " while "
          << model::ToString(states[i]);
      if (status.ok()) continue;
      EXPECT_EQ(ReasonOf(status), "invalid_state");
      EXPECT_NE(std::string(status.message()).find(model::ToString(states[i])),
                std::string::npos);
    }
  }
}

TEST(CheckControlTest, AnExceptionIsTheLastPause) {
  RunState run;
  run.state = kPaused;
  run.reason = model::PauseReason::kError;
  EXPECT_TRUE(CheckControl(model::ControlVerb::kContinue, run).ok());
  EXPECT_TRUE(CheckControl(model::ControlVerb::kTerminate, run).ok());
  for (const model::ControlVerb verb :
       {model::ControlVerb::kStep, model::ControlVerb::kNextNode,
        model::ControlVerb::kContinueTo}) {
    const absl::Status status = CheckControl(verb, run);
    EXPECT_EQ(ReasonOf(status), "invalid_state") << model::ToString(verb);
    EXPECT_NE(status.message().find("exception"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace graphdbg::jobs
