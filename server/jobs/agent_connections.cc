#include "server/jobs/agent_connections.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/process_index.h"

namespace graphdbg::jobs {

AgentConnections::AgentConnections(std::string job, JobStateMachine& machine,
                                   JobWatchpoints& watchpoints,
                                   JobRecorder& recorder, JobEvents& events,
                                   TaskRunner& tasks, AbandonFunction abandon)
    : job_(std::move(job)),
      machine_(machine),
      watchpoints_(watchpoints),
      recorder_(recorder),
      events_(events),
      tasks_(tasks),
      abandon_(std::move(abandon)) {}

absl::StatusOr<Rank*> AgentConnections::Attach(
    AgentHello hello, std::shared_ptr<AgentLink> link) {
  Rank* const holder = machine_.Find(hello.rank);
  const bool same_process = holder != nullptr &&
                            SameProcess(holder->hello, hello) &&
                            !holder->exit_report;
  if (!same_process && (IsAwaitingOthers(hello) || IsOfAnotherRun(hello))) {
    return nullptr;
  }
  if (retired_ || (IsEnded(machine_.job().state) && !same_process)) {
    return nullptr;
  }
  if (!same_process && holder != nullptr && holder->link) {
    return RankTaken(holder->hello);
  }
  if (same_process && holder->link) {
    // The agent noticed before the server that the stream was broken.
    holder->link->Close(Error(absl::StatusCode::kAborted, "replaced",
                              "the agent has opened another stream"));
    abandon_(*holder, "the agent has reconnected");
  }
  Rank& rank =
      machine_.OpenStream(std::move(hello), std::move(link), same_process);
  if (!machine_.awaits_ranks()) return_timer_.reset();
  if (JobJournal* journal = recorder_.journal()) {
    journal->RecordHello(rank.hello.rank, rank.hello, same_process);
  }
  watchpoints_.Welcome(job_, *rank.link, rank.hello.rank, same_process);
  // A state event alone would not announce the new process.
  events_.PublishJob(rank.hello.rank);
  machine_.OnConnected(rank);
  return &rank;
}

bool AgentConnections::IsAwaitingOthers(const AgentHello& hello) const {
  if (!machine_.awaits_ranks()) return false;
  if (const Rank* holder = machine_.Find(hello.rank)) return holder->awaited();
  // A rank that had not connected before the restart has the job's size.
  return machine_.ranks().begin()->second.hello.world_size != hello.world_size;
}

bool AgentConnections::IsOfAnotherRun(const AgentHello& hello) const {
  for (const auto& [number, rank] : machine_.ranks()) {
    if (!rank.link) continue;
    if (rank.hello.world_size != hello.world_size) return true;
    // Programs of one process that run at the same time under one id.
    if (hello.world_size == 1) return !hello.chooses_another_id;
  }
  return false;
}

absl::Status AgentConnections::RankTaken(const AgentHello& holder) const {
  return Error(
      absl::StatusCode::kAlreadyExists, "rank_taken",
      absl::StrCat("rank ", holder.rank, " of job ", job_, " is process ",
                   holder.pid, " on ", holder.host, " (", holder.peer,
                   "), which is connected; give this process another rank or "
                   "another job id"));
}

void AgentConnections::OnClosed(Rank& rank) {
  machine_.OnDisconnected(rank);
  abandon_(rank, "the agent has disconnected");
}

void AgentConnections::AwaitRanks(std::chrono::milliseconds deadline) {
  if (!machine_.awaits_ranks()) return;
  return_timer_ =
      tasks_.RunAfter(deadline, [this] { machine_.LoseAwaitedRanks(); });
}

void AgentConnections::CloseAll(const absl::Status& status) {
  for (const auto& [number, rank] : machine_.ranks()) {
    if (rank.link) rank.link->Close(status);
  }
}

}  // namespace graphdbg::jobs
