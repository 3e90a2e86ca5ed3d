#include "server/jobs/run_state.h"

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
bool IsEnded(model::JobState state) {
  return state == model::JobState::kFinished ||
         state == model::JobState::kTerminated ||
         state == model::JobState::kLost;
}

absl::Status CheckControl(model::ControlVerb verb, const RunState& run) {
  const bool paused = run.state == model::JobState::kPaused;
  bool fits = false;
  switch (verb) {
    case model::ControlVerb::kContinue:
    case model::ControlVerb::kRecheck:
      fits = paused;
      break;
    case model::ControlVerb::kStep:
    case model::ControlVerb::kNextNode:
    case model::ControlVerb::kContinueTo:
      fits = paused && run.reason != model::PauseReason::kError;
      break;
    case model::ControlVerb::kPause:
      fits = run.state == model::JobState::kRunning;
      break;
    case model::ControlVerb::kTerminate:
      fits = !IsEnded(run.state);
      break;
  }
  if (fits) return absl::OkStatus();
  return Error(
      absl::StatusCode::kFailedPrecondition, "invalid_state",
      absl::StrCat("cannot ", std::string(model::ToString(verb)),
                   ": the job is ", std::string(model::ToString(run.state)),
                   paused ? " for an exception, after which it can only "
                            "continue to its end or be terminated"
                          : ""));
}

}  // namespace graphdbg::jobs
