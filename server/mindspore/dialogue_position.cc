// Where a training process stands: steps, nodes, hits, and whether to stop.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/mindspore/dialogue.h"
#include "server/mindspore/hits.h"

namespace graphdbg::mindspore {
namespace {

using debugger::WatchCondition;
using model::PauseReason;

// Checked when a step ends, not at nodes.
bool IsOfStepEnd(const debugger::WatchpointHit& hit) {
  const int condition = hit.watch_condition().condition();
  return condition == WatchCondition::tensor_change_too_large ||
         condition == WatchCondition::tensor_change_too_small ||
         condition == WatchCondition::tensor_not_changed;
}

void Unite(std::vector<uint32_t>& all, const std::vector<uint32_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

void Dialogue::Asks(const debugger::Metadata& metadata) {
  // The client may have been lost before it told its backend.
  if (backend_.empty()) Learn(metadata);
  views_.ClientAsks();
  const Sent answered = std::exchange(sent_, Sent::kNothing);
  const bool report_due = std::exchange(report_due_, false);
  if (!std::exchange(ever_asked_, true)) {
    wire_step_ = metadata.cur_step();
    cur_node_ = metadata.cur_node();
    // It ran while the server was started again.
    if (goal_.kind != Goal::Kind::kStop) inside_step_ = IsInsideStep(metadata);
    step_ = std::max(step_, StepOf(metadata) + steps_late_);
    views_.SetStep(step_);
    const std::vector<uint32_t> hit_by = DeliverHits();
    if (goal_.kind == Goal::Kind::kStop) {
      if (hit_by.empty()) return Stop(reason_, stopped_by_);
      Stop(PauseReason::kWatchpoint, hit_by);
    } else {
      ReportRunning();
      DecideAboutStop(hit_by);
    }
    return;
  }
  if (report_due &&
      (answered == Sent::kRun || goal_.kind != Goal::Kind::kStop)) {
    ReportRunning();
  } else if (report_due) {
    ReportPaused();
  }
  // The order was lost with its connection: it is said again.
  if (report_due && answered == Sent::kRun && StandsStill(metadata)) return;
  if (answered == Sent::kRun) {
    Arrived(metadata);
    DecideAboutStop(DeliverHits());
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

void Dialogue::Arrived(const debugger::Metadata& metadata) {
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
    // end, so that the first two stops both say 0.
    step_ = std::max(step_ + 1, wire_step);
  } else {
    step_ = std::max(step_, wire_step);
  }
  steps_late_ = step_ - std::min(step_, wire_step);
  if (!inside_step_ && hits_.empty()) last_kernel_ = cur_node_;
  views_.SetStep(step_);
}

bool Dialogue::StandsStill(const debugger::Metadata& metadata) const {
  return wire_step_grows_ && metadata.cur_step() == wire_step_ &&
         metadata.cur_node() == cur_node_ && hits_.empty();
}

uint64_t Dialogue::StepOf(const debugger::Metadata& metadata) const {
  return steps_before_ +
         static_cast<uint64_t>(std::max(metadata.cur_step(), 0));
}

bool Dialogue::IsInsideStep(const debugger::Metadata& metadata) const {
  if (!gpu() || metadata.cur_node().empty()) return false;
  if (goal_.kind == Goal::Kind::kNextNode) return true;
  if (goal_.kind == Goal::Kind::kToNode && metadata.cur_node() == goal_.node) {
    return true;
  }
  // At a step's end the client still names its last kernel.
  if (hits_.empty() || metadata.cur_node() == last_kernel_) return false;
  return !std::all_of(hits_.begin(), hits_.end(), IsOfStepEnd);
}

std::vector<uint32_t> Dialogue::DeliverHits() {
  std::vector<std::pair<const BookNode*, debugger::WatchpointHit>> known;
  if (told_hits_.empty()) order_before_told_ = hit_order_;
  told_hits_.insert(told_hits_.end(), hits_.begin(), hits_.end());
  for (debugger::WatchpointHit& hit : std::exchange(hits_, {})) {
    const BookNode* node = NodeOfHit(hit, book_);
    if (node == nullptr || watch_.Find(hit.id()) == nullptr) continue;
    known.emplace_back(node, std::move(hit));
  }
  // Clients before 2021 send them in no order.
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) {
                     return a.first->order < b.first->order;
                   });
  std::vector<uint32_t> now;
  for (const auto& [node, hit] : known) {
    const WireWatchpoint& about = *watch_.Find(hit.id());
    jobs::HitReport report = TranslateHit(hit, about, *node);
    report.number = ++hit_order_;
    report.hit.step = step_;
    report.hit.order = report.number;
    report.hit.time_unix_nano = now_unix_nano_();
    reports_.push_back(std::move(report));
    if (!IsWorthAStop(hit.error_code())) continue;
    if (about.pause == model::PauseMode::kNone) continue;
    const bool finish_step =
        inside_step_ && about.pause == model::PauseMode::kStep;
    Unite(finish_step ? stop_at_step_end_ : now, {about.watchpoint});
  }
  return now;
}

void Dialogue::DecideAboutStop(std::vector<uint32_t> hit_by) {
  if (!inside_step_) Unite(hit_by, std::exchange(stop_at_step_end_, {}));
  if (!hit_by.empty()) {
    Stop(PauseReason::kWatchpoint, std::move(hit_by));
  } else if (pause_wanted_) {
    Stop(PauseReason::kUser);
  } else if (GoalIsReached()) {
    Stop(goal_.kind == Goal::Kind::kSteps ? PauseReason::kStep
                                          : PauseReason::kNode);
  }
}

bool Dialogue::GoalIsReached() const {
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

void Dialogue::Stop(PauseReason reason, std::vector<uint32_t> watchpoints) {
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

void Dialogue::ReportPaused() {
  jobs::RunReport report;
  report.paused = true;
  report.reason = reason_;
  report.step = step_;
  report.watchpoints = stopped_by_;
  if (inside_step_) {
    if (const BookNode* node = book_.ByWireName(cur_node_)) {
      report.node_id = node->id;
    }
  }
  reports_.push_back(std::move(report));
}

void Dialogue::ReportRunning() {
  jobs::RunReport report;
  report.step = step_;
  reports_.push_back(std::move(report));
}

void Dialogue::Alive() {
  if (sent_ == Sent::kRun && std::exchange(report_due_, false)) ReportRunning();
}

void Dialogue::Done(const debugger::Metadata& metadata) {
  // The last step's end is not asked about where the job ends with it.
  if (const uint64_t said = StepOf(metadata); said > step_) {
    step_ = said;
    DeliverHits();
  }
  Gone();
  if (terminated_) return;
  jobs::ExitReport farewell;
  farewell.steps = step_;
  farewell.terminated = terminating_;
  terminated_ = true;
  reports_.push_back(std::move(farewell));
}

void Dialogue::Gone() {
  views_.ClientAsks();
  // Of a step that was under way.
  if (sent_ == Sent::kRun && !hits_.empty()) {
    if (!gpu()) ++step_;
  }
  DeliverHits();
}

}  // namespace graphdbg::mindspore
