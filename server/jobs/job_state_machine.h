// The states of a job's ranks, and the job state that follows from them.
//
//                 pause sent       stopped
//      running ─────────────► pausing ──► paused      running ──► paused
//         ▲  pause refused │                 │        (a step, a hit, ...)
//         └────────────────┴─────────────────┘
//                                 resumed
//
//   connecting             the rank's first state; also after a reconnection,
//                          until the rank reports that it runs or is paused
//   finished, terminated   the rank sent an exit report, or closed its stream
//                          after it was ordered to terminate
//   lost                   the stream closed for any other reason, or the rank
//                          did not return after a restart of the server
#ifndef SERVER_JOBS_JOB_STATE_MACHINE_H_
#define SERVER_JOBS_JOB_STATE_MACHINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/combined_state.h"
#include "server/jobs/journal.h"
#include "server/jobs/rank.h"
#include "server/jobs/run_state.h"

namespace graphdbg::jobs {

// Owns the ranks of a job. On the job's strand only. Each event of a rank is
// one method; all of them change states through one private function, which
// then calls the listener. A report that does not change a state does not call
// it.
//
// Reports come from untrusted agents: any report is accepted in any state.
class JobStateMachine {
 public:
  // A change of the state of `rank` and, possibly, of the job's.
  struct Change {
    const Rank& rank;
    model::JobState rank_before;
    model::JobState job_before;
  };
  using Listener = std::function<void(const Change&)>;

  explicit JobStateMachine(Listener listener)
      : listener_(std::move(listener)) {}

  // A stream of an agent was accepted. `same_process` is false if this is not
  // the process that held the rank before; the rank's data is then reset. The
  // rank's state does not change before OnConnected, so that the caller can
  // send its first orders.
  Rank& OpenStream(AgentHello hello, std::shared_ptr<AgentLink> link,
                   bool same_process);
  void OnConnected(Rank& rank);
  // The current stream has closed.
  void OnDisconnected(Rank& rank);

  // The rank has paused, if `report.paused`, or runs. `node` is the full name
  // of the node that it paused at; empty at the end of a step.
  void OnRunReport(Rank& rank, const RunReport& report, std::string node);
  // A command was sent to the rank.
  void OnCommandSent(Rank& rank, const CommandOrder& order);
  // The rank has answered a command.
  void OnCommandOutcome(Rank& rank, const CommandOutcome& outcome);
  void OnExit(Rank& rank, ExitReport report);

  // Ranks that were alive when the server stopped, and have not come back, are
  // lost.
  void LoseAwaitedRanks();
  bool awaits_ranks() const;

  // The state before the server's restart. Ranks that were alive become
  // connecting. Does not call the listener. Must be called before all else.
  void Restore(std::map<uint32_t, SavedRank> saved);

  // Null if the job has no such rank.
  Rank* Find(uint32_t number);
  const Rank* Find(uint32_t number) const;
  // The same, with NOT_FOUND "unknown_rank".
  absl::Status CheckRank(uint32_t number) const;
  std::map<uint32_t, Rank>& ranks() { return ranks_; }
  const std::map<uint32_t, Rank>& ranks() const { return ranks_; }
  // The first rank, in whose name changes of the whole job are published; 0 if
  // there are no ranks.
  uint32_t first_rank() const;

  // The state of the job as a whole.
  const RunState& job() const { return job_; }
  // How many ranks are in this state.
  size_t Count(model::JobState state) const { return combined_.Count(state); }
  // Whether the job consists of several processes.
  bool has_several_ranks() const;

 private:
  // Does nothing if the rank is in state `next` already.
  void Transition(Rank& rank, RunState next);
  // Has the job's state take the rank's current one into account.
  void Count(Rank& rank);
  void Discount(Rank& rank);
  void CombineRanks();
  // Numbers the exception, unless it is the one that the rank stopped at.
  void Number(const Rank& rank, std::optional<model::Exception>& exception);

  const Listener listener_;
  std::map<uint32_t, Rank> ranks_;
  CombinedState combined_;
  RunState job_;
  uint64_t exceptions_ = 0;
  // The job's state at the listener's last call.
  model::JobState reported_ = model::JobState::kConnecting;
};

// NOT_FOUND "unknown_rank".
absl::Status UnknownRank(uint32_t rank);

// Whether the command makes a paused rank resume.
bool Resumes(model::ControlVerb verb);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_STATE_MACHINE_H_
