// The state that a job keeps for each of its ranks.
#ifndef SERVER_JOBS_RANK_H_
#define SERVER_JOBS_RANK_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/graph/agent_ids.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/run_state.h"

namespace graphdbg::jobs {

// On the job's strand only. `run` and the fields that follow from it are
// changed by JobStateMachine alone.
struct Rank {
  AgentHello hello;
  RunState run;
  // Whether the job's state takes `run` into account.
  bool counted = false;
  // Whether the listener has been told of `run`.
  bool announced = false;
  // Null while no stream is open.
  std::shared_ptr<AgentLink> link;
  // Counts streams; reports from earlier streams are void.
  uint64_t stream = 0;
  // Node ids of this process. They outlive its streams.
  graph::AgentIds ids;
  // The process's own number of its newest hit; 0 if it does not number hits.
  uint64_t last_hit = 0;
  // How many times the rank has resumed from a stop.
  uint64_t times_resumed = 0;
  // The command that resumes the paused rank and has not taken effect yet; 0 if
  // there is none. Until then the rank accepts no other command of this kind.
  uint64_t resuming_command = 0;
  // The rank has confirmed that command. Its next state is the effect.
  bool resume_confirmed = false;
  // The command that asked the running rank to pause; 0 if there was none.
  uint64_t pausing_command = 0;
  // The share of recent steps that passed in the agent; absent if it is not
  // known.
  std::optional<double> overhead;
  // The number of completed steps when the rank last stopped.
  uint64_t steps_ended = 0;
  // The step after which the running rank stops. Absent if it is not known to
  // stop.
  std::optional<uint64_t> stops_after;
  // The rank's state at its own stop, before it was moved on to the step at
  // which the other ranks can stop.
  std::optional<RunState> original_stop;
  // The stream on which the rank was ordered to terminate; 0 if it was not. The
  // rank may be killed before it can send an exit report: launchers kill the
  // remaining processes of a job as soon as one has ended.
  uint64_t terminating_stream = 0;
  // The agent's last report, if it ended in good order.
  std::optional<ExitReport> exit_report;

  // The rank was alive when the server stopped and has not reconnected yet.
  bool awaited() const {
    return link == nullptr && run.state == model::JobState::kConnecting;
  }
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RANK_H_
