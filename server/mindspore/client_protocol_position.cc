// The position of a training process: its step and node, its hits, and whether
// to stop.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/mindspore/client_protocol.h"
#include "server/mindspore/hits.h"

namespace graphdbg::mindspore {
namespace {

using debugger::WatchCondition;
using model::PauseReason;

// Whether clients check the condition at the end of a step instead of at nodes.
bool IsCheckedAtStepEnd(const debugger::WatchpointHit& hit) {
  const int condition = hit.watch_condition().condition();
  return condition == WatchCondition::tensor_change_too_large ||
         condition == WatchCondition::tensor_change_too_small ||
         condition == WatchCondition::tensor_not_changed;
}

void MergeSorted(std::vector<uint32_t>& all,
                 const std::vector<uint32_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

void ClientProtocol::OnWait(const debugger::Metadata& metadata) {
  // After a restart, the client's backend may not have been saved.
  if (backend_.empty()) UpdateProfile(metadata);
  tensors_.OnCommandDone();
  const Sent answered = std::exchange(sent_, Sent::kNothing);
  const bool report_due = std::exchange(report_due_, false);
  if (!std::exchange(ever_waited_, true)) {
    wire_step_ = metadata.cur_step();
    cur_node_ = metadata.cur_node();
    // The client was running while the server restarted.
    if (goal_.kind != Goal::Kind::kStop) inside_step_ = IsInsideStep(metadata);
    step_ = std::max(step_, StepOf(metadata) + steps_late_);
    tensors_.SetStep(step_);
    const std::vector<uint32_t> hit_by = DeliverHits();
    if (goal_.kind == Goal::Kind::kStop) {
      if (hit_by.empty()) return Stop(reason_, stopped_by_);
      Stop(PauseReason::kWatchpoint, hit_by);
    } else {
      ReportRunning();
      StopIfNeeded(hit_by);
    }
    return;
  }
  if (report_due &&
      (answered == Sent::kRun || goal_.kind != Goal::Kind::kStop)) {
    ReportRunning();
  } else if (report_due) {
    ReportPaused();
  }
  // The run command was lost with the connection. Send it again.
  if (report_due && answered == Sent::kRun && HasNotMoved(metadata)) return;
  if (answered == Sent::kRun) {
    OnRunFinished(metadata);
    StopIfNeeded(DeliverHits());
    return;
  }
  const std::vector<uint32_t> hit_by = DeliverHits();
  if (answered != Sent::kRecheck) return;
  if (const uint64_t command = std::exchange(recheck_command_, 0)) {
    Answer(command);
  } else if (!hit_by.empty()) {
    Stop(PauseReason::kWatchpoint, hit_by);
  }
}

void ClientProtocol::OnRunFinished(const debugger::Metadata& metadata) {
  const bool was_inside = inside_step_;
  inside_step_ = IsInsideStep(metadata);
  cur_node_ = metadata.cur_node();
  const uint64_t wire_step = StepOf(metadata);
  if (metadata.cur_step() > wire_step_) wire_step_grows_ = true;
  wire_step_ = metadata.cur_step();
  const bool finished_one = !inside_step_ && !was_inside;
  if (gpu() && wire_step_grows_) {
    step_ = wire_step;
  } else if (finished_one || !gpu()) {
    // Some clients on Ascend count a step only after they have stopped at its
    // end. They report step 0 at each of the first two stops.
    step_ = std::max(step_ + 1, wire_step);
  } else {
    step_ = std::max(step_, wire_step);
  }
  steps_late_ = step_ - std::min(step_, wire_step);
  if (!inside_step_ && hits_.empty()) last_kernel_ = cur_node_;
  tensors_.SetStep(step_);
}

bool ClientProtocol::HasNotMoved(const debugger::Metadata& metadata) const {
  return wire_step_grows_ && metadata.cur_step() == wire_step_ &&
         metadata.cur_node() == cur_node_ && hits_.empty();
}

uint64_t ClientProtocol::StepOf(const debugger::Metadata& metadata) const {
  return steps_before_ +
         static_cast<uint64_t>(std::max(metadata.cur_step(), 0));
}

bool ClientProtocol::IsInsideStep(const debugger::Metadata& metadata) const {
  if (!gpu() || metadata.cur_node().empty()) return false;
  if (goal_.kind == Goal::Kind::kNextNode) return true;
  if (goal_.kind == Goal::Kind::kToNode && metadata.cur_node() == goal_.node) {
    return true;
  }
  // At the end of a step, the client still reports its last kernel.
  if (hits_.empty() || metadata.cur_node() == last_kernel_) return false;
  return !std::all_of(hits_.begin(), hits_.end(), IsCheckedAtStepEnd);
}

void ClientProtocol::Report(const ReportedHit& reported,
                            const NodeEntry& node) {
  const debugger::WatchpointHit& hit = reported.hit;
  jobs::HitReport report =
      TranslateHit(hit, *watchpoints_.Find(hit.id()), node);
  report.number = reported.number;
  report.hit.step = reported.step;
  report.hit.order = reported.number;
  report.hit.time_unix_nano = now_unix_nano_();
  reports_.push_back(std::move(report));
}

void ClientProtocol::OnHitsStored(uint64_t through) {
  while (!reported_hits_.empty() && reported_hits_.front().number <= through) {
    reported_hits_.pop_front();
  }
}

std::vector<uint32_t> ClientProtocol::DeliverHits() {
  std::vector<std::pair<const NodeEntry*, debugger::WatchpointHit>> known;
  for (debugger::WatchpointHit& hit : std::exchange(hits_, {})) {
    const NodeEntry* node = NodeOfHit(hit, nodes_);
    if (node == nullptr || watchpoints_.Find(hit.id()) == nullptr) continue;
    known.emplace_back(node, std::move(hit));
  }
  // Clients before 2021 send hits in arbitrary order.
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) {
                     return a.first->order < b.first->order;
                   });
  std::vector<uint32_t> now;
  for (const auto& [node, hit] : known) {
    const WireWatchpoint& watchpoint = *watchpoints_.Find(hit.id());
    reported_hits_.push_back({++hit_order_, step_, hit});
    if (reported_hits_.size() > kMaxHits) reported_hits_.pop_front();
    Report(reported_hits_.back(), *node);
    if (!JustifiesStop(hit.error_code())) continue;
    if (watchpoint.pause == model::PauseMode::kNone) continue;
    const bool finish_step =
        inside_step_ && watchpoint.pause == model::PauseMode::kStep;
    MergeSorted(finish_step ? stop_at_step_end_ : now, {watchpoint.watchpoint});
  }
  return now;
}

void ClientProtocol::StopIfNeeded(std::vector<uint32_t> hit_by) {
  if (!inside_step_) MergeSorted(hit_by, std::exchange(stop_at_step_end_, {}));
  if (!hit_by.empty()) {
    Stop(PauseReason::kWatchpoint, std::move(hit_by));
  } else if (pause_wanted_) {
    Stop(PauseReason::kUser);
  } else if (GoalIsReached()) {
    Stop(goal_.kind == Goal::Kind::kSteps ? PauseReason::kStep
                                          : PauseReason::kNode);
  }
}

bool ClientProtocol::GoalIsReached() const {
  switch (goal_.kind) {
    case Goal::Kind::kSteps:
      return !inside_step_ && step_ >= goal_.step;
    case Goal::Kind::kNextNode:
      return true;
    case Goal::Kind::kToNode:
      return cur_node_ == goal_.node;
    case Goal::Kind::kStop:
    case Goal::Kind::kEndless:
      break;
  }
  return false;
}

void ClientProtocol::Stop(PauseReason reason,
                          std::vector<uint32_t> watchpoints) {
  goal_ = Goal{};
  pause_wanted_ = false;
  reason_ = reason;
  stopped_at_ = step_;
  stopped_by_ = std::move(watchpoints);
  ReportPaused();
  if (const uint64_t command = std::exchange(pause_command_, 0)) {
    Answer(command);
  }
}

void ClientProtocol::ReportPaused() {
  jobs::RunReport report;
  report.paused = true;
  report.reason = reason_;
  report.step = step_;
  report.watchpoints = stopped_by_;
  if (inside_step_) {
    if (const NodeEntry* node = nodes_.ByWireName(cur_node_)) {
      report.node_id = node->id;
    }
  }
  reports_.push_back(std::move(report));
}

void ClientProtocol::ReportRunning() {
  jobs::RunReport report;
  report.step = step_;
  reports_.push_back(std::move(report));
}

void ClientProtocol::OnHeartbeat() {
  if (sent_ == Sent::kRun && std::exchange(report_due_, false)) ReportRunning();
}

void ClientProtocol::OnDone(const debugger::Metadata& metadata) {
  // If the job ends with its last step, the client does not wait for a command
  // at the end of that step.
  if (const uint64_t step = StepOf(metadata); step > step_) {
    step_ = step;
    DeliverHits();
  }
  OnDisconnect();
  if (terminated_) return;
  jobs::ExitReport report;
  report.steps = step_;
  report.terminated = terminating_;
  terminated_ = true;
  reports_.push_back(std::move(report));
}

void ClientProtocol::OnDisconnect() {
  tensors_.OnCommandDone();
  // The hits belong to a step that has not ended.
  if (sent_ == Sent::kRun && !hits_.empty()) {
    if (!gpu()) ++step_;
  }
  DeliverHits();
}

}  // namespace graphdbg::mindspore
