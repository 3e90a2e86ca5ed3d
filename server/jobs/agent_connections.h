// Connects the agents of a job to its ranks.
#ifndef SERVER_JOBS_AGENT_CONNECTIONS_H_
#define SERVER_JOBS_AGENT_CONNECTIONS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/task_runner.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/job_watchpoints.h"

namespace graphdbg::jobs {

// Decides which agent holds a rank. On the job's strand only.
//
// A rank belongs to one process, which may reconnect as often as it likes.
// Another process can take the rank only after the first one has gone. After a
// restart of the server, ranks that were alive have until a deadline to come
// back; until then no other process can take their place.
class AgentConnections {
 public:
  // Ends everything that waits for a rank's answers.
  using AbandonFunction =
      std::function<void(Rank& rank, const std::string& reason)>;

  AgentConnections(std::string job, JobStateMachine& machine,
                   JobWatchpoints& watchpoints, JobRecorder& recorder,
                   JobEvents& events, TaskRunner& tasks,
                   AbandonFunction abandon);

  // Assigns the rank to the agent and welcomes it. Null if the job has ended or
  // awaits its processes, and this is not one of them: the agent needs another
  // job.
  // ALREADY_EXISTS "rank_taken" if another live process holds the rank.
  absl::StatusOr<Rank*> Attach(AgentHello hello,
                               std::shared_ptr<AgentLink> link);

  // The rank's current stream has ended.
  void OnClosed(Rank& rank);

  // The job was restored: ranks that do not reconnect within `deadline` are
  // lost.
  void AwaitRanks(std::chrono::milliseconds deadline);

  // The job was forgotten: no agent can attach any more.
  void Retire() { retired_ = true; }
  // Closes all connections, with this status.
  void CloseAll(const absl::Status& status);

 private:
  // Whether the job awaits another process than this one in its place.
  bool IsAwaitingOthers(const AgentHello& hello) const;
  // Whether the process has to be in another run of the same id: the connected
  // ranks are those of a job of another size, or the only one.
  bool IsOfAnotherRun(const AgentHello& hello) const;
  absl::Status RankTaken(const AgentHello& holder) const;

  const std::string job_;
  JobStateMachine& machine_;
  JobWatchpoints& watchpoints_;
  JobRecorder& recorder_;
  JobEvents& events_;
  TaskRunner& tasks_;
  const AbandonFunction abandon_;
  bool retired_ = false;
  // Runs while ranks are awaited.
  std::shared_ptr<void> return_timer_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_AGENT_CONNECTIONS_H_
