#include "server/jobs/job_state_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

// The state of a rank that has stopped.
RunState StopOf(const Rank& rank, const RunReport& report, std::string node) {
  RunState stop;
  stop.state = model::JobState::kPaused;
  stop.step = report.step;
  stop.reason = report.reason;
  stop.node = std::move(node);
  stop.stopped_by = report.watchpoints;
  stop.exception = report.exception;
  std::sort(stop.stopped_by.begin(), stop.stopped_by.end());
  // The rank was only moved on to where the other ranks can stop. Users want to
  // see why it stopped in the first place.
  if (stop.reason == model::PauseReason::kStep && rank.original_stop) {
    stop.reason = rank.original_stop->reason;
    stop.node = rank.original_stop->node;
    stop.stopped_by = rank.original_stop->stopped_by;
  }
  return stop;
}

}  // namespace

absl::Status UnknownRank(uint32_t rank) {
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_rank",
                         absl::StrCat("the job has no rank ", rank)),
                   "rank");
}

bool Resumes(model::ControlVerb verb) {
  return verb == model::ControlVerb::kContinue ||
         verb == model::ControlVerb::kStep ||
         verb == model::ControlVerb::kNextNode ||
         verb == model::ControlVerb::kContinueTo;
}

Rank& JobStateMachine::OpenStream(AgentHello hello,
                                  std::shared_ptr<AgentLink> link,
                                  bool same_process) {
  Rank& rank = ranks_[hello.rank];
  if (!same_process) {
    Discount(rank);
    const uint64_t stream = rank.stream;
    rank = Rank{};
    rank.stream = stream;
  }
  rank.hello = std::move(hello);
  rank.link = std::move(link);
  ++rank.stream;
  if (same_process) return rank;
  // The announcement of a new process shows what the job is with it.
  Count(rank);
  CombineRanks();
  return rank;
}

void JobStateMachine::OnConnected(Rank& rank) {
  RunState connecting;
  connecting.step = rank.run.step;
  Transition(rank, std::move(connecting));
}

void JobStateMachine::OnDisconnected(Rank& rank) {
  rank.link.reset();
  if (rank.exit_report) return;
  RunState gone = rank.run;
  gone.state = rank.terminating_stream == rank.stream
                   ? model::JobState::kTerminated
                   : model::JobState::kLost;
  gone.reason = model::PauseReason::kNone;
  Transition(rank, std::move(gone));
}

void JobStateMachine::OnRunReport(Rank& rank, const RunReport& report,
                                  std::string node) {
  // A stop can follow another without a report in between.
  if (rank.run.state == model::JobState::kPaused) ++rank.times_resumed;
  RunState next;
  next.step = report.step;
  if (report.paused) {
    next = StopOf(rank, report, std::move(node));
    Number(rank, next.exception);
    rank.steps_ended = report.step - (report.node_id != 0 ? 1 : 0);
    rank.stops_after.reset();
    rank.original_stop.reset();
  } else {
    if (report.pauses_after != 0) rank.stops_after = report.pauses_after;
    // A report that the rank still runs does not answer a pending pause.
    next.state = rank.run.state == model::JobState::kPausing
                     ? model::JobState::kPausing
                     : model::JobState::kRunning;
  }
  // One of several ranks may have stopped just before it was ordered to resume.
  if (!report.paused || !has_several_ranks() || rank.resume_confirmed) {
    rank.resuming_command = 0;
  }
  Transition(rank, std::move(next));
}

void JobStateMachine::OnCommandSent(Rank& rank, const CommandOrder& order) {
  RunState next = rank.run;
  if (Resumes(order.verb)) {
    rank.resuming_command = order.id;
    rank.resume_confirmed = false;
    rank.stops_after.reset();
    if (order.verb == model::ControlVerb::kStep) {
      rank.stops_after = rank.steps_ended + order.steps;
    }
    // The rank may have stopped by now; the command then resumes it.
    if (next.state == model::JobState::kPausing) {
      next.state = model::JobState::kRunning;
    }
  }
  if (order.verb == model::ControlVerb::kPause) {
    rank.stops_after.reset();
    rank.pausing_command = order.id;
    next.state = model::JobState::kPausing;
  }
  if (order.verb == model::ControlVerb::kTerminate) {
    rank.terminating_stream = rank.stream;
  }
  Transition(rank, std::move(next));
}

void JobStateMachine::OnCommandOutcome(Rank& rank,
                                       const CommandOutcome& outcome) {
  if (rank.resuming_command == outcome.command_id) {
    // One of several ranks counts as stopped until a state shows that it runs:
    // if the others were stopped for it, the continue would undo itself.
    const bool awaits_state = outcome.error.ok() && has_several_ranks() &&
                              rank.run.state == model::JobState::kPaused;
    rank.resume_confirmed = awaits_state;
    if (!awaits_state) rank.resuming_command = 0;
  }
  const bool still_runs = !outcome.error.ok() &&
                          rank.run.state == model::JobState::kPausing &&
                          rank.pausing_command == outcome.command_id;
  if (!still_runs) return;
  RunState running = rank.run;
  running.state = model::JobState::kRunning;
  Transition(rank, std::move(running));
}

void JobStateMachine::OnExit(Rank& rank, ExitReport report) {
  RunState end;
  end.state = report.terminated ? model::JobState::kTerminated
                                : model::JobState::kFinished;
  end.step = report.steps;
  Number(rank, report.exception);
  rank.exit_report = std::move(report);
  Transition(rank, std::move(end));
}

void JobStateMachine::Number(const Rank& rank,
                             std::optional<model::Exception>& exception) {
  if (!exception) return;
  const bool known = rank.run.exception.has_value();
  exception->order = known ? rank.run.exception->order : ++exceptions_;
}

void JobStateMachine::LoseAwaitedRanks() {
  for (auto& [number, rank] : ranks_) {
    if (!rank.awaited()) continue;
    RunState lost = rank.run;
    lost.state = model::JobState::kLost;
    Transition(rank, std::move(lost));
  }
}

bool JobStateMachine::awaits_ranks() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& each) { return each.second.awaited(); });
}

void JobStateMachine::Restore(std::map<uint32_t, SavedRank> saved) {
  for (auto& [number, from] : saved) {
    Rank& rank = ranks_[number];
    rank.hello = std::move(from.hello);
    rank.run = std::move(from.run);
    rank.exit_report = std::move(from.exit_report);
    rank.ids = std::move(from.ids);
    rank.last_hit = from.last_hit;
    rank.hello.rank = number;
    rank.announced = true;
    if (rank.exit_report && rank.exit_report->exception) {
      exceptions_ = std::max(exceptions_, rank.exit_report->exception->order);
    }
    if (!IsEnded(rank.run.state)) {
      const uint64_t step = rank.run.step;
      rank.run = RunState{};
      rank.run.step = step;
    }
    Count(rank);
  }
  CombineRanks();
  // The server was killed before it recorded the first process, so no process
  // can come back to this job.
  if (ranks_.empty()) job_.state = model::JobState::kLost;
  reported_ = job_.state;
}

Rank* JobStateMachine::Find(uint32_t number) {
  const auto it = ranks_.find(number);
  return it == ranks_.end() ? nullptr : &it->second;
}

const Rank* JobStateMachine::Find(uint32_t number) const {
  const auto it = ranks_.find(number);
  return it == ranks_.end() ? nullptr : &it->second;
}

absl::Status JobStateMachine::CheckRank(uint32_t number) const {
  return ranks_.count(number) > 0 ? absl::OkStatus() : UnknownRank(number);
}

uint32_t JobStateMachine::first_rank() const {
  return ranks_.empty() ? 0 : ranks_.begin()->first;
}

bool JobStateMachine::has_several_ranks() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
    return each.second.hello.world_size > 1;
  });
}

void JobStateMachine::Transition(Rank& rank, RunState next) {
  if (rank.announced && rank.run == next) return;
  rank.announced = true;
  Discount(rank);
  const model::JobState rank_before = rank.run.state;
  rank.run = std::move(next);
  Count(rank);
  CombineRanks();
  const model::JobState job_before = std::exchange(reported_, job_.state);
  listener_({rank, rank_before, job_before});
}

void JobStateMachine::Count(Rank& rank) {
  combined_.Add(rank.hello.rank, rank.run);
  rank.counted = true;
}

void JobStateMachine::Discount(Rank& rank) {
  if (!rank.counted) return;
  combined_.Remove(rank.hello.rank, rank.run);
  rank.counted = false;
}

void JobStateMachine::CombineRanks() {
  job_ = combined_.Get();
  if (job_.state != model::JobState::kPaused) return;
  job_.node = Find(combined_.MostInformative())->run.node;
}

}  // namespace graphdbg::jobs
