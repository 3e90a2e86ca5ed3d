#include "server/jobs/run_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

constexpr model::JobState kConnecting = model::JobState::kConnecting;
constexpr model::JobState kPaused = model::JobState::kPaused;
constexpr model::JobState kRunning = model::JobState::kRunning;
constexpr model::JobState kPausing = model::JobState::kPausing;
constexpr model::JobState kFinished = model::JobState::kFinished;
constexpr model::JobState kTerminated = model::JobState::kTerminated;
constexpr model::JobState kLost = model::JobState::kLost;

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
