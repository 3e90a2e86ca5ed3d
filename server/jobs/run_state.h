// States of ranks, what a job's state is among them, and which commands fit a
// state.
#ifndef SERVER_JOBS_RUN_STATE_H_
#define SERVER_JOBS_RUN_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Where a rank, or a job as a whole, is.
struct RunState {
  model::JobState state = model::JobState::kConnecting;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  // Full name; empty between steps and while running.
  std::string node;
  // The watchpoints that stopped it, ascending.
  std::vector<uint32_t> stopped_by;

  bool operator==(const RunState&) const = default;
};

// Finished, terminated or lost.
bool IsEnded(model::JobState state);

// Ranks that are alive decide as long as there is one: pausing if one is,
// paused if all are. Reason and node are those of the rank that has the most
// to tell (a watchpoint before an error before a node and so on), the step is
// the furthest. Without ranks: connecting.
RunState Combine(const std::vector<const RunState*>& ranks);

// FAILED_PRECONDITION "invalid_state", naming the state. A lost or ended job
// takes no command; only a paused one goes on; only a running one pauses.
absl::Status CheckControl(model::ControlVerb verb, model::JobState state);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RUN_STATE_H_
