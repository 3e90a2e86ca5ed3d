// Executes the commands of users.
#ifndef SERVER_JOBS_COMMAND_DISPATCHER_H_
#define SERVER_JOBS_COMMAND_DISPATCHER_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/graph/graph_store.h"
#include "server/jobs/command_sender.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/rank_group.h"
#include "server/jobs/unchecked_watchpoints.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Validates a request, selects the ranks that it applies to, and sends it. On
// the job's strand only.
class CommandDispatcher {
 public:
  CommandDispatcher(JobStateMachine& machine, CommandSender& sender,
                    RankGroup& group, const graph::GraphStore& graph,
                    UncheckedWatchpoints& unchecked, JobEvents& events);

  // Returns the id of the command; its result is published as an event.
  // UNIMPLEMENTED "unsupported_command", NOT_FOUND "unknown_rank",
  // "unknown_node" or "unknown_scope", INVALID_ARGUMENT "invalid_steps" or
  // "not_executable", FAILED_PRECONDITION "invalid_state" or "several_ranks",
  // UNAVAILABLE "job_gone".
  absl::StatusOr<std::string> Dispatch(const model::ControlRequest& request);

 private:
  // Refuses to resume a model that is only shown.
  absl::Status CheckRuns(model::ControlVerb verb) const;
  absl::Status CheckSupported(model::ControlVerb verb) const;
  absl::Status CheckArguments(const model::ControlRequest& request) const;
  // Checks that every agent can pass over nodes, and that the scope is known.
  absl::Status CheckPassed(const model::PassedNodes& passed) const;
  // Checks that the node to continue to can be reached.
  absl::Status CheckNode(const model::ControlRequest& request) const;
  // The ranks whose state accepts the command. Ranks can be in different
  // states, so this is an error only if no rank accepts it.
  absl::StatusOr<std::set<uint32_t>> SelectRanks(
      const model::ControlRequest& request) const;
  // Why SelectRanks found no rank.
  absl::Status NoRankAccepts(const model::ControlRequest& request,
                             bool resuming) const;

  JobStateMachine& machine_;
  CommandSender& sender_;
  RankGroup& group_;
  const graph::GraphStore& graph_;
  UncheckedWatchpoints& unchecked_;
  JobEvents& events_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_COMMAND_DISPATCHER_H_
