// Several ranks of one job stop, step and end together (rank_sync.h).
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/error.h"
#include "server/jobs/job_impl.h"

namespace graphdbg::jobs {
namespace {

constexpr char kOnlyAlone[] =
    "ranks wait for each other in collectives, so all stop at the ends of "
    "steps; one that is named is moved alone";

}  // namespace

std::map<model::ControlVerb, std::string> JobImpl::NotForAll() const {
  if (!has_several_ranks()) return {};
  return {{model::ControlVerb::kNextNode, kOnlyAlone},
          {model::ControlVerb::kContinueTo, kOnlyAlone}};
}

bool JobImpl::has_several_ranks() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
    return each.second.hello.world_size > 1;
  });
}

bool JobImpl::IsForAll(const model::ControlRequest& request) const {
  return !request.rank && has_several_ranks();
}

absl::Status JobImpl::CheckForAll(const model::ControlRequest& request) const {
  const auto not_for_all = NotForAll();
  const auto refused = not_for_all.find(request.verb);
  if (refused != not_for_all.end()) {
    return Error(absl::StatusCode::kFailedPrecondition, "several_ranks",
                 refused->second);
  }
  if (request.verb != model::ControlVerb::kStep) return absl::OkStatus();
  std::vector<uint32_t> moving;
  for (const RankPosition& at : Positions()) {
    if (!at.stopped) moving.push_back(at.rank);
  }
  if (moving.empty()) return absl::OkStatus();
  return Error(
      absl::StatusCode::kFailedPrecondition, "invalid_state",
      absl::StrCat("cannot step: not all ranks have stopped; running: ",
                   absl::StrJoin(moving, ", ")));
}

void JobImpl::NoteIntent(const model::ControlRequest& request) {
  if (request.verb == model::ControlVerb::kRecheck) return;
  ranks_apart_ = !IsForAll(request);
  runs_freely_ = request.verb == model::ControlVerb::kContinue && !ranks_apart_;
  for (auto& [number, rank] : ranks_) {
    if (!ranks_apart_) rank.stopped_earlier.reset();
  }
}

uint64_t JobImpl::StepAfter(uint64_t steps) const {
  uint64_t furthest = 0;
  for (const RankPosition& at : Positions()) {
    furthest = std::max(furthest, at.steps_ended);
  }
  return furthest + steps;
}

std::vector<RankPosition> JobImpl::Positions() const {
  std::vector<RankPosition> positions;
  for (const auto& [number, rank] : ranks_) {
    const model::JobState state = rank.run.state;
    const bool paused = state == model::JobState::kPaused;
    const bool moves = state == model::JobState::kRunning ||
                       state == model::JobState::kPausing;
    if (!rank.link || (!paused && !moves)) continue;
    RankPosition at;
    at.rank = number;
    at.stopped = paused && rank.resuming == 0;
    at.at_start = at.stopped && rank.run.reason == model::PauseReason::kStart;
    at.inside = at.stopped && rank.run.step > rank.steps_ended;
    at.steps_ended = rank.steps_ended;
    at.stops_after = rank.stops_after;
    at.asked_to_stop = state == model::JobState::kPausing;
    positions.push_back(at);
  }
  return positions;
}

void JobImpl::KeepRanksTogether() {
  if (!has_several_ranks() || ranks_apart_) return;
  const std::vector<SyncOrder> orders = KeepTogether(Positions(), runs_freely_);
  for (const SyncOrder& order : orders) Give(order);
  if (ending_ == 0 || !orders.empty()) return;
  const std::vector<RankPosition> positions = Positions();
  if (std::all_of(positions.begin(), positions.end(),
                  [](const RankPosition& at) { return at.stopped; })) {
    EndAll();
  }
}

void JobImpl::Give(const SyncOrder& order) {
  Rank& rank = ranks_.at(order.rank);
  CommandOrder command;
  command.id = commands_.Open({order.rank});
  switch (order.kind) {
    case SyncOrder::Kind::kStop:
      runs_freely_ = false;
      command.verb = model::ControlVerb::kPause;
      command.at_step_end = true;
      break;
    case SyncOrder::Kind::kStep:
      if (!rank.stopped_earlier) rank.stopped_earlier = rank.run;
      command.verb = model::ControlVerb::kStep;
      command.steps = order.steps;
      command.past_hits = true;
      break;
    case SyncOrder::Kind::kFollow:
      command.verb = model::ControlVerb::kContinue;
      break;
  }
  Send(rank, command);
}

bool JobImpl::EndTogether(uint64_t command) {
  runs_freely_ = false;
  // Asked for twice: at once, then.
  if (ending_ != 0) {
    EndAll();
    return false;
  }
  bool moving = false;
  for (const RankPosition& at : Positions()) {
    moving |= !at.stopped;
    if (at.stopped || at.asked_to_stop) continue;
    Give({at.rank, SyncOrder::Kind::kStop, 0});
  }
  if (!moving) return false;
  ending_ = command;
  end_timer_.expires_after(options_->end_deadline);
  end_timer_.async_wait([weak = weak_from_this()](auto error) {
    auto self = weak.lock();
    if (!error && self && self->ending_ != 0) self->EndAll();
  });
  return true;
}

void JobImpl::EndAll() {
  CommandOrder order;
  order.id = std::exchange(ending_, 0);
  order.verb = model::ControlVerb::kTerminate;
  end_timer_.cancel();
  for (auto& [number, rank] : ranks_) {
    if (rank.link && !IsEnded(rank.run.state)) Send(rank, order);
  }
}

}  // namespace graphdbg::jobs
