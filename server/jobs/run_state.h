// States of ranks, the job state that they add up to, and the commands that
// each state accepts.
#ifndef SERVER_JOBS_RUN_STATE_H_
#define SERVER_JOBS_RUN_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// The state and position of a rank, or of a job as a whole.
struct RunState {
  model::JobState state = model::JobState::kConnecting;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  // Full name; empty between steps and while running.
  std::string node;
  // The watchpoints that caused the pause, in ascending order.
  std::vector<uint32_t> stopped_by;
  // The exception that the rank is paused for.
  std::optional<model::Exception> exception;

  bool operator==(const RunState&) const = default;
};

// True for finished, terminated and lost.
bool IsEnded(model::JobState state);

// FAILED_PRECONDITION "invalid_state", naming the state. A job that has ended
// accepts no command, only a paused job can resume, and only a running job can
// pause. A job that is paused for an exception has no further steps.
absl::Status CheckControl(model::ControlVerb verb, const RunState& run);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RUN_STATE_H_
