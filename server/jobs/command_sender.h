// Sends commands to ranks and keeps track of their outcomes.
#ifndef SERVER_JOBS_COMMAND_SENDER_H_
#define SERVER_JOBS_COMMAND_SENDER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/jobs/agent_port.h"
#include "server/jobs/command_log.h"
#include "server/jobs/job_state_machine.h"

namespace graphdbg::jobs {

// On the job's strand only.
class CommandSender {
 public:
  // The first command gets the id after `last_id`.
  CommandSender(JobStateMachine& machine, uint64_t last_id)
      : machine_(machine), log_(last_id) {}

  // Registers a command that goes to `ranks`, and returns its id.
  uint64_t Open(const std::set<uint32_t>& ranks) { return log_.Open(ranks); }

  // Sends an order with the id of a registered command to a connected rank, and
  // updates the rank's state.
  void Send(Rank& rank, const CommandOrder& order);

  // A rank has answered. Returns the command's result if this completes it.
  std::optional<CommandResult> OnOutcome(Rank& rank,
                                         const CommandOutcome& outcome);

  // The rank will not answer any more, because of `reason`. Returns the results
  // of the commands that this completes.
  std::vector<CommandResult> Abandon(Rank& rank, const std::string& reason);

 private:
  JobStateMachine& machine_;
  CommandLog log_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_COMMAND_SENDER_H_
