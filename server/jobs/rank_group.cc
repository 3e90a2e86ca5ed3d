#include "server/jobs/rank_group.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

constexpr char kSingleRankOnly[] =
    "ranks wait for each other in collectives, so they stop together at the "
    "ends of steps; this command needs a single rank";

}  // namespace

RankGroup::RankGroup(JobStateMachine& machine, CommandSender& sender,
                     TaskRunner& tasks,
                     std::chrono::milliseconds terminate_deadline)
    : machine_(machine),
      sender_(sender),
      tasks_(tasks),
      terminate_deadline_(terminate_deadline) {}

bool RankGroup::IsForGroup(const model::ControlRequest& request) const {
  return !request.rank && machine_.has_several_ranks();
}

std::map<model::ControlVerb, std::string> RankGroup::unsupported() const {
  if (!machine_.has_several_ranks()) return {};
  return {{model::ControlVerb::kNextNode, kSingleRankOnly},
          {model::ControlVerb::kContinueTo, kSingleRankOnly}};
}

absl::Status RankGroup::Check(const model::ControlRequest& request) const {
  const auto refused = unsupported();
  if (const auto it = refused.find(request.verb); it != refused.end()) {
    return Error(absl::StatusCode::kFailedPrecondition, "several_ranks",
                 it->second);
  }
  if (request.verb != model::ControlVerb::kStep) return absl::OkStatus();
  std::vector<uint32_t> running;
  for (const RankPosition& at : Positions()) {
    if (!at.stopped) running.push_back(at.rank);
  }
  if (running.empty()) return absl::OkStatus();
  return Error(
      absl::StatusCode::kFailedPrecondition, "invalid_state",
      absl::StrCat("cannot step: not all ranks have stopped; running: ",
                   absl::StrJoin(running, ", ")));
}

void RankGroup::RecordIntent(const model::ControlRequest& request) {
  if (!machine_.has_several_ranks()) return;
  if (request.verb == model::ControlVerb::kRecheck) return;
  moved_apart_ = !IsForGroup(request);
  runs_freely_ = request.verb == model::ControlVerb::kContinue && !moved_apart_;
  if (moved_apart_) return;
  for (auto& [number, rank] : machine_.ranks()) rank.original_stop.reset();
}

uint64_t RankGroup::StepAfter(uint64_t steps) const {
  uint64_t furthest = 0;
  for (const RankPosition& at : Positions()) {
    furthest = std::max(furthest, at.steps_ended);
  }
  return furthest + steps;
}

std::vector<RankPosition> RankGroup::Positions() const {
  std::vector<RankPosition> positions;
  for (const auto& [number, rank] : machine_.ranks()) {
    const model::JobState state = rank.run.state;
    const bool paused = state == model::JobState::kPaused;
    const bool moves = state == model::JobState::kRunning ||
                       state == model::JobState::kPausing;
    if (!rank.link || (!paused && !moves)) continue;
    RankPosition at;
    at.rank = number;
    at.stopped = paused && rank.resuming_command == 0;
    at.at_start = at.stopped && rank.run.reason == model::PauseReason::kStart;
    at.failed = at.stopped && rank.run.reason == model::PauseReason::kError;
    at.inside = at.stopped && !at.failed && rank.run.step > rank.steps_ended;
    at.steps_ended = rank.steps_ended;
    at.stops_after = rank.stops_after;
    at.asked_to_stop = state == model::JobState::kPausing;
    positions.push_back(at);
  }
  return positions;
}

bool RankGroup::AreTogether() const {
  if (!machine_.has_several_ranks() || moved_apart_) return true;
  const auto& ranks = machine_.ranks();
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& entry) {
    return entry.second.resuming_command == 0;
  });
}

void RankGroup::Synchronize() {
  if (!machine_.has_several_ranks() || moved_apart_) return;
  // Running ranks are together. Most reports come from such.
  if (machine_.Count(model::JobState::kPaused) == 0) return;
  const std::vector<SyncOrder> orders = KeepTogether(Positions(), runs_freely_);
  Send(orders);
  if (terminate_command_ == 0 || !orders.empty()) return;
  const std::vector<RankPosition> positions = Positions();
  if (std::all_of(positions.begin(), positions.end(),
                  [](const RankPosition& at) { return at.stopped; })) {
    TerminateAll();
  }
}

void RankGroup::Send(const std::vector<SyncOrder>& orders) {
  std::map<std::pair<SyncOrder::Kind, uint64_t>, std::set<uint32_t>> same;
  for (const SyncOrder& order : orders) {
    same[{order.kind, order.steps}].insert(order.rank);
  }
  for (const auto& [what, ranks] : same) {
    const uint64_t id = sender_.Open(ranks);
    for (uint32_t rank : ranks) Send(id, {rank, what.first, what.second});
  }
}

void RankGroup::Send(uint64_t id, const SyncOrder& order) {
  Rank& rank = *machine_.Find(order.rank);
  CommandOrder command;
  command.id = id;
  switch (order.kind) {
    case SyncOrder::Kind::kStop:
      runs_freely_ = false;
      command.verb = model::ControlVerb::kPause;
      command.at_step_end = true;
      break;
    case SyncOrder::Kind::kStep:
      if (!rank.original_stop) rank.original_stop = rank.run;
      command.verb = model::ControlVerb::kStep;
      command.steps = order.steps;
      command.past_hits = true;
      break;
    case SyncOrder::Kind::kFollow:
      command.verb = model::ControlVerb::kContinue;
      break;
  }
  sender_.Send(rank, command);
}

bool RankGroup::TerminateTogether(uint64_t command) {
  runs_freely_ = false;
  // The user does not want to wait for the first request any longer.
  if (terminate_command_ != 0) {
    TerminateAll();
    return false;
  }
  const std::vector<RankPosition> positions = Positions();
  // The others may wait for a rank that has failed and cannot end their step.
  if (std::any_of(positions.begin(), positions.end(),
                  [](const RankPosition& at) { return at.failed; })) {
    return false;
  }
  bool moving = false;
  std::vector<SyncOrder> orders;
  for (const RankPosition& at : positions) {
    moving |= !at.stopped;
    if (at.stopped || at.asked_to_stop) continue;
    orders.push_back({at.rank, SyncOrder::Kind::kStop, 0});
  }
  Send(orders);
  if (!moving) return false;
  terminate_command_ = command;
  terminate_timer_ =
      tasks_.RunAfter(terminate_deadline_, [this] { TerminateAll(); });
  return true;
}

void RankGroup::TerminateAll() {
  CommandOrder order;
  order.id = std::exchange(terminate_command_, 0);
  order.verb = model::ControlVerb::kTerminate;
  terminate_timer_.reset();
  for (auto& [number, rank] : machine_.ranks()) {
    if (rank.link && !IsEnded(rank.run.state)) sender_.Send(rank, order);
  }
}

}  // namespace graphdbg::jobs
