#include "tests/fuzz/session/reference_job.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/model/enum_names.h"

namespace graphdbg::session {
namespace {

using model::ControlVerb;
using model::JobState;
using model::PauseReason;

bool Ended(JobState state) {
  return state == JobState::kFinished || state == JobState::kTerminated ||
         state == JobState::kLost;
}

bool Resumes(ControlVerb verb) {
  return verb == ControlVerb::kContinue || verb == ControlVerb::kStep ||
         verb == ControlVerb::kNextNode || verb == ControlVerb::kContinueTo;
}

bool Accepts(JobState state, PauseReason reason, ControlVerb verb) {
  if (verb == ControlVerb::kTerminate) return !Ended(state);
  if (verb == ControlVerb::kPause) return state == JobState::kRunning;
  // No step follows an exception.
  const bool steps = Resumes(verb) && verb != ControlVerb::kContinue;
  if (steps && reason == PauseReason::kError) return false;
  return state == JobState::kPaused;
}

// The order in which pause reasons are shown, least informative first.
int Information(PauseReason reason) {
  constexpr PauseReason kOrder[] = {
      PauseReason::kNone,      PauseReason::kStart, PauseReason::kStep,
      PauseReason::kUser,      PauseReason::kNode,  PauseReason::kError,
      PauseReason::kWatchpoint};
  return static_cast<int>(
      std::find(std::begin(kOrder), std::end(kOrder), reason) -
      std::begin(kOrder));
}

JobState StateOfLive(const std::vector<const ShownRank*>& live) {
  const auto any = [&live](JobState state) {
    return std::any_of(live.begin(), live.end(), [state](const ShownRank* r) {
      return r->state == state;
    });
  };
  // The others can only wait for a rank that has failed.
  const bool failed =
      std::any_of(live.begin(), live.end(), [](const ShownRank* r) {
        return r->state == JobState::kPaused &&
               r->reason == PauseReason::kError;
      });
  if (failed) return JobState::kPaused;
  if (any(JobState::kPausing)) return JobState::kPausing;
  if (any(JobState::kRunning)) return JobState::kRunning;
  return any(JobState::kConnecting) ? JobState::kConnecting : JobState::kPaused;
}

JobState StateOfEnded(const std::vector<const ShownRank*>& ranks) {
  JobState state = JobState::kFinished;
  for (const ShownRank* rank : ranks) {
    if (rank->state == JobState::kLost) return JobState::kLost;
    if (rank->state == JobState::kTerminated) state = JobState::kTerminated;
  }
  return state;
}

// Reason, node and watchpoints of a paused job.
void ShowStop(const std::vector<const ShownRank*>& live, Shown& job) {
  const ShownRank* best = live.front();
  std::set<uint32_t> stopped_by;
  for (const ShownRank* rank : live) {
    if (Information(rank->reason) > Information(best->reason)) best = rank;
    stopped_by.insert(rank->stopped_by.begin(), rank->stopped_by.end());
  }
  job.reason = best->reason;
  job.node = best->node;
  job.stopped_by.assign(stopped_by.begin(), stopped_by.end());
}

bool RunsOn(JobState state) {
  return state == JobState::kRunning || state == JobState::kPausing;
}

// Steps of running ranks are shown in time, and not one by one.
bool OnlyStepsDiffer(Shown a, Shown b) {
  for (Shown* shown : {&a, &b}) {
    for (auto& [id, rank] : shown->ranks) {
      if (!RunsOn(std::get<0>(rank))) continue;
      rank = {std::get<0>(rank), 0, ""};
      shown->step = 0;
    }
  }
  return a == b;
}

// A paused job some of whose ranks have to move on to the stop of others.
Shown AsPausing(const Shown& paused) {
  return {JobState::kPausing, PauseReason::kNone, paused.step, "", {},
          paused.ranks};
}

}  // namespace

Shown ShownBy(const model::Job& job) {
  Shown shown{job.state, job.pause_reason, job.step,
              job.node,  job.stopped_by,   {}};
  for (const model::Rank& rank : job.ranks) {
    shown.ranks[rank.rank] = {rank.state, rank.step, rank.node};
  }
  return shown;
}

std::string ToString(const Shown& shown) {
  std::string text = absl::StrCat(
      std::string(model::ToString(shown.state)), "/",
      std::string(model::ToString(shown.reason)), " step ", shown.step, " \"",
      shown.node, "\" by [", absl::StrJoin(shown.stopped_by, ","), "]");
  for (const auto& [number, rank] : shown.ranks) {
    absl::StrAppend(&text, "; rank ", number, " ",
                    std::string(model::ToString(std::get<0>(rank))), " step ",
                    std::get<1>(rank), " \"", std::get<2>(rank), "\"");
  }
  return text;
}

bool ReferenceJob::RankModel::ended() const { return Ended(shown.state); }

bool ReferenceJob::RankModel::awaited() const {
  return !connected && shown.state == JobState::kConnecting;
}

bool ReferenceJob::RankModel::started() const {
  return connected && !ended() && shown.state != JobState::kConnecting;
}

void ReferenceJob::Violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

void ReferenceJob::BeginCall() {
  path_ = {shown()};
  reached_ = 0;
  request_.reset();
  targets_.clear();
  request_id_ = 0;
}

void ReferenceJob::EndCall() {
  const bool unshown = reached_ + 1 != path_.size() &&
                       !OnlyStepsDiffer(path_.back(), path_[reached_]);
  pause_is_hidden_ |= unshown;
  if (pause_is_hidden_ && !MayHidePause()) {
    Violate(absl::StrCat("no event shows the state ", ToString(path_.back()),
                         "; the last one showed ", ToString(path_[reached_])));
  }
  for (const auto& [id, failed] : due_results_) {
    Violate(absl::StrCat("no event reports the result of command ", id));
  }
  if (request_id_ != 0 && request_id_ != deferred_terminate_) {
    for (uint32_t rank : targets_) {
      if (sent_.count({request_id_, rank}) == 0) {
        Violate(absl::StrCat("command ", request_id_,
                             " was accepted and not sent to rank ", rank));
      }
    }
  }
  if (request_ && request_id_ == 0) {
    Violate("a command was accepted and not announced");
  }
  request_.reset();
}

ReferenceJob::Admission ReferenceJob::Attach(const jobs::AgentHello& hello) {
  const auto it = ranks_.find(hello.rank);
  const RankModel* const holder = it == ranks_.end() ? nullptr : &it->second;
  const bool same = IsProcess(hello);
  if (removed_ || (!same && ended())) return Admission::kNeedsNewJob;
  // Nobody else takes the place of a process that is awaited.
  if (!same && holder != nullptr && holder->awaited()) {
    return Admission::kNeedsNewJob;
  }
  if (!same && holder != nullptr && holder->connected) {
    // Programs of one process that run at the same time are separate jobs.
    return hello.world_size == 1 ? Admission::kNeedsNewJob
                                 : Admission::kRankTaken;
  }
  if (same) Abandon(hello.rank);
  RankModel& rank = ranks_[hello.rank];
  if (!same) {
    const uint64_t stream = rank.stream;
    rank = RankModel{};
    rank.stream = stream;
  }
  rank.hello = hello;
  rank.connected = true;
  ++rank.stream;
  ShownRank connecting;
  connecting.step = rank.shown.step;
  SetState(hello.rank, connecting);
  return Admission::kAttached;
}

bool ReferenceJob::IsProcess(const jobs::AgentHello& hello) const {
  const auto it = ranks_.find(hello.rank);
  return it != ranks_.end() && !it->second.exited &&
         it->second.hello.incarnation == hello.incarnation;
}

bool ReferenceJob::IsHolder(uint32_t rank,
                            const std::string& incarnation) const {
  const auto it = ranks_.find(rank);
  return it != ranks_.end() && it->second.hello.incarnation == incarnation;
}

bool ReferenceJob::IsCurrent(uint32_t rank, uint64_t stream) const {
  const RankModel& model = ranks_.at(rank);
  return model.connected && model.stream == stream;
}

void ReferenceJob::OnGraph(uint32_t rank,
                           const std::map<uint32_t, std::string>& nodes) {
  RankModel& model = ranks_.at(rank);
  if (model.exited) return;
  model.nodes.insert(nodes.begin(), nodes.end());
  for (const auto& [id, name] : nodes) known_nodes_.insert(name);
}

void ReferenceJob::OnRunReport(uint32_t number, const jobs::RunReport& report) {
  RankModel& rank = ranks_.at(number);
  if (rank.exited) return;
  ShownRank next;
  next.step = report.step;
  if (report.paused) {
    next.state = JobState::kPaused;
    next.reason = report.reason;
    const auto node = rank.nodes.find(report.node_id);
    if (node != rank.nodes.end()) next.node = node->second;
    next.stopped_by = report.watchpoints;
    std::sort(next.stopped_by.begin(), next.stopped_by.end());
    if (rank.own_stop && report.reason == PauseReason::kStep) {
      next = *rank.own_stop;
      next.step = report.step;
    }
    rank.own_stop.reset();
    if (!HasSeveralRanks() || rank.resume_confirmed) rank.resuming = 0;
  } else {
    next.state = rank.shown.state == JobState::kPausing ? JobState::kPausing
                                                        : JobState::kRunning;
    rank.resuming = 0;
  }
  SetState(number, std::move(next));
}

void ReferenceJob::OnOutcome(uint32_t number,
                             const jobs::CommandOutcome& outcome) {
  RankModel& rank = ranks_.at(number);
  if (rank.exited) return;
  const uint64_t id = outcome.command_id;
  if (rank.resuming == id) {
    // One of several ranks counts as resumed once it says that it runs.
    rank.resume_confirmed =
        outcome.error.ok() && HasSeveralRanks() && rank.paused();
    if (!rank.resume_confirmed) rank.resuming = 0;
  }
  Answered(id, number, !outcome.error.ok());
  // Only the refusal of the pause itself means that the rank runs on.
  if (outcome.error.ok() || rank.shown.state != JobState::kPausing ||
      rank.pause != id) {
    return;
  }
  ShownRank next = rank.shown;
  next.state = JobState::kRunning;
  SetState(number, std::move(next));
}

void ReferenceJob::OnExit(uint32_t number, const jobs::ExitReport& report) {
  RankModel& rank = ranks_.at(number);
  if (rank.exited) return;
  rank.exited = true;
  ShownRank end;
  end.state = report.terminated ? JobState::kTerminated : JobState::kFinished;
  end.step = report.steps;
  SetState(number, std::move(end));
  Abandon(number);
  ForgetTerminationOfNobody();
}

void ReferenceJob::OnClosed(uint32_t number) {
  RankModel& rank = ranks_.at(number);
  rank.connected = false;
  if (!rank.exited) {
    ShownRank gone = rank.shown;
    gone.state = rank.terminated_stream == rank.stream ? JobState::kTerminated
                                                       : JobState::kLost;
    gone.reason = PauseReason::kNone;
    SetState(number, std::move(gone));
  }
  Abandon(number);
  ForgetTerminationOfNobody();
}

void ReferenceJob::ForgetTerminationOfNobody() {
  const bool any =
      std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
        return each.second.connected && !each.second.ended();
      });
  if (!any) deferred_terminate_ = 0;
}

bool ReferenceJob::HasSeveralRanks() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
    return each.second.hello.world_size > 1;
  });
}

bool ReferenceJob::ShowsAsPausing(const Shown& seen, const Shown& job) const {
  return HasSeveralRanks() && job.state == JobState::kPaused &&
         seen == AsPausing(job);
}

bool ReferenceJob::MayHidePause() const {
  if (!HasSeveralRanks() || shown().state != JobState::kPaused) return false;
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
    return each.second.resuming != 0;
  });
}

bool ReferenceJob::IsForGroup(const model::ControlRequest& request) const {
  return HasSeveralRanks() && !request.rank;
}

std::set<uint32_t> ReferenceJob::TargetsOf(const model::ControlRequest& request,
                                           bool& resuming) const {
  std::set<uint32_t> targets;
  for (const auto& [number, rank] : ranks_) {
    if (!rank.connected || number != request.rank.value_or(number)) continue;
    const bool withdraws = IsForGroup(request) &&
                           request.verb == ControlVerb::kContinue &&
                           rank.shown.state == JobState::kPausing;
    if (!withdraws &&
        !Accepts(rank.shown.state, rank.shown.reason, request.verb)) {
      continue;
    }
    if (Resumes(request.verb) && rank.resuming != 0) {
      resuming = true;
    } else {
      targets.insert(number);
    }
  }
  return targets;
}

std::string ReferenceJob::OnControl(const model::ControlRequest& request) {
  if (request.rank && ranks_.count(*request.rank) == 0) return "unknown_rank";
  bool resuming = false;
  targets_ = TargetsOf(request, resuming);
  if (targets_.empty()) {
    const Shown job = shown();
    const bool fits =
        request.rank
            ? Accepts(ranks_.at(*request.rank).shown.state,
                      ranks_.at(*request.rank).shown.reason, request.verb)
            : Accepts(job.state, job.reason, request.verb);
    return resuming || !fits ? "invalid_state" : "job_gone";
  }
  if (request.verb == ControlVerb::kStep && request.steps == 0) {
    return "invalid_steps";
  }
  if (IsForGroup(request)) {
    if (request.verb == ControlVerb::kNextNode ||
        request.verb == ControlVerb::kContinueTo) {
      return "several_ranks";
    }
    for (const auto& [number, rank] : ranks_) {
      const bool stopped = rank.paused() && rank.resuming == 0;
      if (request.verb == ControlVerb::kStep && rank.started() && !stopped) {
        return "invalid_state";
      }
    }
  } else if (request.verb == ControlVerb::kContinueTo && !request.pending &&
             known_nodes_.count(request.node) == 0) {
    return "unknown_node";
  }
  request_ = request;
  return "";
}

void ReferenceJob::SawControlAnswer(const std::string& expected_reason,
                                    const std::string& reason,
                                    const std::string& id) {
  if (reason != expected_reason) {
    Violate(absl::StrCat("a command was answered \"", reason,
                         "\" instead of \"", expected_reason, "\""));
  }
  if (reason.empty() && id != absl::StrCat(request_id_)) {
    Violate(
        absl::StrCat("a command has the id ", id, ", its event ", request_id_));
  }
}

void ReferenceJob::OnRestart() {
  for (auto& [number, rank] : ranks_) {
    rank.connected = false;
    rank.stream = 0;
    rank.nodes.clear();
    rank.resuming = rank.pause = rank.terminated_stream = 0;
    rank.own_stop.reset();
    rank.sent.clear();
    if (rank.ended()) continue;
    ShownRank connecting;
    connecting.step = rank.shown.step;
    rank.shown = connecting;
  }
  known_nodes_.clear();
  pending_.clear();
  due_results_.clear();
  deferred_terminate_ = 0;
  lost_without_ranks_ = ranks_.empty();
  last_id_ = last_seq_ = 0;
}

void ReferenceJob::LoseAwaited() {
  for (auto& [number, rank] : ranks_) {
    if (!rank.awaited()) continue;
    ShownRank lost = rank.shown;
    lost.state = JobState::kLost;
    SetState(number, std::move(lost));
  }
}

void ReferenceJob::SetState(uint32_t number, ShownRank next) {
  RankModel& rank = ranks_.at(number);
  rank.shown = std::move(next);
  if (Shown now = shown(); path_.back() != now) path_.push_back(std::move(now));
}

void ReferenceJob::Answered(uint64_t id, uint32_t rank, bool failed) {
  const auto it = pending_.find(id);
  if (it == pending_.end() || it->second.waits_for.erase(rank) == 0) return;
  it->second.failed |= failed;
  if (!it->second.waits_for.empty()) return;
  due_results_.emplace(id, it->second.failed);
  pending_.erase(it);
}

void ReferenceJob::Abandon(uint32_t number) {
  ranks_.at(number).resuming = 0;
  std::vector<uint64_t> ids;
  for (const auto& [id, command] : pending_) ids.push_back(id);
  for (uint64_t id : ids) Answered(id, number, /*failed=*/true);
}

void ReferenceJob::SawOrder(uint32_t number, uint64_t stream,
                            const jobs::CommandOrder& order) {
  RankModel& rank = ranks_.at(number);
  const std::string name = absl::StrCat(
      "order ", order.id, " (", std::string(model::ToString(order.verb)),
      ") to rank ", number);
  if (!rank.connected || rank.stream != stream) {
    return Violate(name + " went to a stream that has ended");
  }
  if (rank.ended()) return Violate(name + " went to a rank that has ended");
  if (!sent_.insert({order.id, number}).second) {
    return Violate(name + " was sent twice");
  }
  CheckOrder(number, rank, order);
  rank.sent.push_back(order.id);
  ShownRank next = rank.shown;
  if (Resumes(order.verb)) {
    rank.resuming = order.id;
    rank.resume_confirmed = false;
    if (order.past_hits && !rank.own_stop) rank.own_stop = rank.shown;
    if (next.state == JobState::kPausing) next.state = JobState::kRunning;
  } else if (order.verb == ControlVerb::kPause) {
    rank.pause = order.id;
    next.state = JobState::kPausing;
  } else if (order.verb == ControlVerb::kTerminate) {
    rank.terminated_stream = stream;
    if (order.id == deferred_terminate_) deferred_terminate_ = 0;
  }
  SetState(number, std::move(next));
}

// The request of this call, the termination that waited for the ranks to stop,
// or an order that keeps the ranks together.
void ReferenceJob::CheckOrder(uint32_t number, const RankModel& rank,
                              const jobs::CommandOrder& order) {
  const std::string name =
      absl::StrCat("order ", order.id, " to rank ", number);
  const bool stopped = rank.paused() && rank.resuming == 0;
  if (order.id == request_id_) {
    if (order.verb != request_->verb || targets_.count(number) == 0) {
      Violate(name + " is not what the client requested");
    }
    const bool withdraws = rank.shown.state == JobState::kPausing;
    if (Resumes(order.verb) && !stopped && !withdraws) {
      Violate(name + " resumes a rank that has not stopped");
    }
    return;
  }
  if (order.verb == ControlVerb::kTerminate) {
    // Known since the request; sent when the ranks have stopped.
    if (order.id > last_id_) Violate(name + " terminates without a request");
    return;
  }
  // Ranks that get the same order get it as one command.
  if (order.id < last_id_ || (order.id == last_id_ && order.id != together_)) {
    return Violate(name + " has an old number");
  }
  last_id_ = together_ = order.id;
  pending_[order.id].waits_for.insert(number);
  if (!HasSeveralRanks()) return Violate(name + " was not requested");
  if (order.verb == ControlVerb::kPause) {
    const bool runs = rank.shown.state == JobState::kRunning ||
                      (rank.paused() && rank.resuming != 0);
    if (!runs) {
      Violate(absl::StrCat(name, " pauses a rank that does not run, but is ",
                           std::string(model::ToString(rank.shown.state))));
    }
  } else if (Resumes(order.verb)) {
    if (!stopped) Violate(name + " resumes a rank that has not stopped");
    if (order.verb == ControlVerb::kStep && order.steps == 0) {
      Violate(name + " runs no step");
    }
  } else {
    Violate(name + " was not requested");
  }
}

void ReferenceJob::SawEvent(const model::Event& event) {
  if (last_seq_ != 0 && event.seq != last_seq_ + 1) {
    Violate(absl::StrCat("event ", event.seq, " follows event ", last_seq_));
  }
  last_seq_ = event.seq;
  if (event.job_info) CheckShown(*event.job_info);
  if (event.type == model::Event::Type::kCommand) SawCommandEvent(event);
  if (event.type == model::Event::Type::kState && !event.command_id.empty()) {
    SawResult(event);
  }
  if (event.type == model::Event::Type::kJob && !event.job_info && !removed_) {
    Violate("the removal of a job was announced that exists");
  }
}

void ReferenceJob::CheckShown(const model::Job& job) {
  const Shown shown = ShownBy(job);
  const auto begin = path_.begin() + static_cast<std::ptrdiff_t>(reached_);
  auto found = std::find(begin, path_.end(), shown);
  pause_is_hidden_ = found == path_.end();
  if (pause_is_hidden_) {
    found = std::find_if(begin, path_.end(), [&](const Shown& each) {
      return ShowsAsPausing(shown, each);
    });
  }
  if (found != path_.end()) {
    reached_ = static_cast<size_t>(found - path_.begin());
    return;
  }
  Violate(absl::StrCat("an event shows ", ToString(shown),
                       ", which was never so; it is ", ToString(path_.back())));
}

void ReferenceJob::SawCommandEvent(const model::Event& event) {
  uint64_t id = 0;
  if (!request_ || request_id_ != 0 ||
      !absl::SimpleAtoi(event.command_id, &id) || id <= last_id_) {
    return Violate(
        absl::StrCat("event of an unexpected command ", event.command_id));
  }
  request_id_ = last_id_ = id;
  pending_[id].waits_for = targets_;
  if (!IsForGroup(*request_)) return;
  if (request_->verb == ControlVerb::kTerminate && deferred_terminate_ == 0) {
    const bool moving =
        std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
          const RankModel& rank = each.second;
          return rank.started() && !(rank.paused() && rank.resuming == 0);
        });
    if (moving) deferred_terminate_ = id;
  }
  if (request_->verb == ControlVerb::kRecheck) return;
  for (auto& [number, rank] : ranks_) rank.own_stop.reset();
}

void ReferenceJob::SawResult(const model::Event& event) {
  uint64_t id = 0;
  const auto it = absl::SimpleAtoi(event.command_id, &id)
                      ? due_results_.find(id)
                      : due_results_.end();
  if (it == due_results_.end()) {
    return Violate(
        absl::StrCat("a second or early result of command ", event.command_id));
  }
  if (it->second != (event.level == "error")) {
    Violate(absl::StrCat("the wrong result of command ", id));
  }
  due_results_.erase(it);
}

void ReferenceJob::SawDescription(const model::Job& job) {
  if (ShownBy(job) == shown() || ShowsAsPausing(ShownBy(job), shown())) return;
  Violate(absl::StrCat("the job is shown as ", ToString(ShownBy(job)),
                       "; it is ", ToString(shown())));
}

const std::vector<uint64_t>& ReferenceJob::SentTo(uint32_t rank) const {
  return ranks_.at(rank).sent;
}

bool ReferenceJob::ended() const { return Ended(shown().state); }

Shown ReferenceJob::shown() const {
  Shown job;
  if (lost_without_ranks_ && ranks_.empty()) job.state = JobState::kLost;
  std::vector<const ShownRank*> all;
  std::vector<const ShownRank*> live;
  for (const auto& [number, rank] : ranks_) {
    job.ranks[number] = {rank.shown.state, rank.shown.step, rank.shown.node};
    job.step = std::max(job.step, rank.shown.step);
    all.push_back(&rank.shown);
    if (!rank.ended()) live.push_back(&rank.shown);
  }
  if (all.empty()) return job;
  job.state = live.empty() ? StateOfEnded(all) : StateOfLive(live);
  if (job.state == JobState::kPaused) ShowStop(live, job);
  return job;
}

}  // namespace graphdbg::session
