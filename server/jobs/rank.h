// What a job knows of one of its ranks.
#ifndef SERVER_JOBS_RANK_H_
#define SERVER_JOBS_RANK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/graph/agent_ids.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/run_state.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// NOT_FOUND "unknown_rank".
absl::Status UnknownRank(uint32_t rank);

struct Rank {
  AgentHello hello;
  RunState run;
  // Whether `run` is part of the job's state yet.
  bool counted = false;
  // Null while no stream is open.
  std::shared_ptr<AgentLink> link;
  // Counts streams; reports of an earlier one are void.
  uint64_t stream = 0;
  // Of this process; outlives its streams.
  graph::AgentIds ids;
  // The newest hit of this process, by its own number; 0 if it gives none.
  uint64_t last_hit = 0;
  // How often it went on from a stop.
  uint64_t stops_left = 0;
  // A command that lets a paused rank go and has not shown its effect yet; 0 if
  // none. Until then the rank takes no other of its kind.
  uint64_t resuming = 0;
  // While it is stopped: the steps that have ended.
  uint64_t steps_ended = 0;
  // While it runs: it stops after this step; absent: not known to stop.
  std::optional<uint64_t> stops_after;
  // Why it stopped before it went on to where the other ranks can stop.
  std::optional<RunState> stopped_earlier;
  // The stream on which it was told to end; 0 if it was not. It may have no
  // time left for a last report: launchers kill what remains of a job one of
  // whose processes has ended.
  uint64_t ending_stream = 0;
  // The agent's last report, if it ended in good order.
  std::optional<Farewell> farewell;

  // Known from before the server's restart, and not heard of since.
  bool awaited() const {
    return link == nullptr && run.state == model::JobState::kConnecting;
  }
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RANK_H_
