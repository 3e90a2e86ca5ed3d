// Controls the ranks of a job as one group.
//
// Ranks of a distributed job wait for each other in collectives. They therefore
// stop, step and terminate together, at the ends of steps (rank_sync.h), unless
// the user moves a single rank.
#ifndef SERVER_JOBS_RANK_GROUP_H_
#define SERVER_JOBS_RANK_GROUP_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/base/task_runner.h"
#include "server/jobs/command_sender.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/rank_sync.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Decides which orders keep the ranks together, and sends them. Does nothing
// for jobs of a single process. On the job's strand only.
class RankGroup {
 public:
  // Ranks that terminate together get at most `terminate_deadline` to reach a
  // common step.
  RankGroup(JobStateMachine& machine, CommandSender& sender, TaskRunner& tasks,
            std::chrono::milliseconds terminate_deadline);

  // Whether the request applies to all of several ranks.
  bool IsForGroup(const model::ControlRequest& request) const;

  // The commands that several ranks cannot execute together, with the reason.
  std::map<model::ControlVerb, std::string> unsupported() const;

  // Whether the group can execute this request now. FAILED_PRECONDITION
  // "several_ranks" or "invalid_state".
  absl::Status Check(const model::ControlRequest& request) const;

  // Records that the user has controlled all ranks, or only one of them: a rank
  // that the user moves alone suspends the synchronization until the next
  // request for all ranks.
  void RecordIntent(const model::ControlRequest& request);

  // The step at whose end all ranks stop after `steps` more steps.
  uint64_t StepAfter(uint64_t steps) const;

  // Sends the orders that bring the ranks together. Must be called after every
  // change of a rank's state.
  void Synchronize();
  // Whether no paused rank has been ordered to move on. Always if the
  // synchronization is suspended.
  bool AreTogether() const;

  // Stops all ranks at a common step and then terminates them, with the id of a
  // registered command. Returns false if the ranks do not have to be stopped
  // first, because they have already, or because this is the second request;
  // the caller then terminates them at once.
  bool TerminateTogether(uint64_t command);

 private:
  // The positions of all ranks that are connected and have started.
  std::vector<RankPosition> Positions() const;
  // Ranks that get the same order get it as one command.
  void Send(const std::vector<SyncOrder>& orders);
  void Send(uint64_t command, const SyncOrder& order);
  void TerminateAll();

  JobStateMachine& machine_;
  CommandSender& sender_;
  TaskRunner& tasks_;
  const std::chrono::milliseconds terminate_deadline_;
  // The user has continued all ranks, and none has stopped since.
  bool runs_freely_ = false;
  // The user moves single ranks.
  bool moved_apart_ = false;
  // The terminate command that waits for the ranks to stop; 0 if there is none.
  uint64_t terminate_command_ = 0;
  std::shared_ptr<void> terminate_timer_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RANK_GROUP_H_
