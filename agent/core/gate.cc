#include "agent/core/gate.h"

#include <algorithm>
#include <utility>

#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

// How often a waiting thread asks whether the host was interrupted.
constexpr auto kInterruptPoll = std::chrono::milliseconds(50);

absl::Status InvalidState(absl::string_view message) {
  return wire::MakeError(absl::StatusCode::kFailedPrecondition, "invalid_state",
                         message);
}

}  // namespace

Gate::Gate(const Host* host, Listener listener, bool hold)
    : host_(host), listener_(std::move(listener)), hold_(hold) {}

// --- Orders

void Gate::Apply(const v1::Command& command, uint32_t awaited_node) {
  {
    Lock lock(mu_);
    const absl::Status status = Check(command, awaited_node);
    if (!status.ok()) {
      listener_.on_command(command.id(), status);
      return;
    }
    Take(command, awaited_node);
  }
  listener_.on_needs();
}

absl::Status Gate::Check(const v1::Command& command,
                         uint32_t awaited_node) const {
  if (open_for_good_) return InvalidState("the program is ending");
  switch (command.action_case()) {
    case v1::Command::kPause:
    case v1::Command::kTerminate:
      return absl::OkStatus();
    case v1::Command::kContinue:
      // Also takes back a pause that has not happened yet.
      return closed_ || pause_asked_ != Asked::kNo
                 ? absl::OkStatus()
                 : InvalidState("the program is running");
    case v1::Command::kContinueTo:
      if (awaited_node == 0 && !command.continue_to().pending()) {
        return wire::MakeError(absl::StatusCode::kNotFound, "unknown_node",
                               "no such node has been seen");
      }
      break;
    default:
      break;
  }
  return closed_ ? absl::OkStatus() : InvalidState("the program is running");
}

void Gate::Take(const v1::Command& command, uint32_t awaited_node) {
  switch (command.action_case()) {
    case v1::Command::kContinue:
      OpenForMode(Mode::kFree);
      break;
    case v1::Command::kStep:
      // Inside a step, its own end counts as the first: the same number.
      last_step_ = steps_ended_ + std::max<uint64_t>(command.step().steps(), 1);
      OpenForMode(Mode::kSteps);
      past_hits_ = command.step().past_hits();
      break;
    case v1::Command::kNextNode:
      OpenForMode(Mode::kNextNode);
      break;
    case v1::Command::kContinueTo:
      Await(command.continue_to().node(), awaited_node);
      OpenForMode(Mode::kUntilNode);
      break;
    case v1::Command::kPause:
      pause_commands_.push_back(command.id());
      if (closed_) return AnswerPause();
      pause_asked_ = std::max(pause_asked_, command.pause().at_step_end()
                                                ? Asked::kAtStepEnd
                                                : Asked::kAnywhere);
      // Answered when it has happened; when that can be is told at once.
      return Report();
    case v1::Command::kTerminate:
      terminate_ = true;
      open_for_good_ = true;
      OpenForMode(Mode::kFree);
      break;
    default:
      break;
  }
  listener_.on_command(command.id(), absl::OkStatus());
}

void Gate::OpenForMode(Mode mode) {
  mode_ = mode;
  past_hits_ = false;
  if (mode != Mode::kUntilNode) Await("", 0);
  pause_asked_ = Asked::kNo;
  AnswerPause();
  if (!closed_) return;
  closed_ = false;
  Report();
  opened_.notify_all();
}

void Gate::Await(const std::string& name, uint32_t node) {
  awaited_name_ = name;
  awaited_node_ = node;
}

void Gate::NodeDeclared(absl::string_view name, uint32_t node) {
  {
    Lock lock(mu_);
    if (awaited_name_.empty() || awaited_node_ != 0 || awaited_name_ != name) {
      return;
    }
    awaited_node_ = node;
  }
  listener_.on_needs();
}

void Gate::AnswerPause() {
  for (uint64_t id : std::exchange(pause_commands_, {})) {
    listener_.on_command(id, absl::OkStatus());
  }
}

void Gate::SetConnected(bool connected) {
  {
    Lock lock(mu_);
    connected_ = connected;
    // The ids of commands are those of a stream.
    pause_commands_.clear();
    if (!connected && !closed_ && !hold_) {
      mode_ = Mode::kFree;
      past_hits_ = false;
      Await("", 0);
      pause_asked_ = Asked::kNo;
    }
  }
  listener_.on_needs();
}

void Gate::Resume() {
  {
    Lock lock(mu_);
    OpenForMode(Mode::kFree);
  }
  listener_.on_needs();
}

void Gate::Open(bool terminate) {
  {
    Lock lock(mu_);
    open_for_good_ = true;
    terminate_ |= terminate;
    OpenForMode(Mode::kFree);
  }
  listener_.on_needs();
}

// --- Execution points

bool Gate::MayClose() const { return !open_for_good_ && (connected_ || hold_); }

graphdbg_status Gate::Start(bool wait, const std::vector<uint32_t>& hits) {
  Lock lock(mu_);
  started_ = true;
  if (!closed_ && MayClose()) {
    if (!hits.empty()) {
      Close(v1::PAUSE_REASON_WATCHPOINT, 0, hits);
    } else if (wait || pause_asked_ != Asked::kNo) {
      Close(v1::PAUSE_REASON_START, 0, {});
    }
  }
  if (!closed_) Report();
  return Wait(&lock);
}

graphdbg_status Gate::AtNode(uint32_t node, const std::vector<uint32_t>& hits) {
  Lock lock(mu_);
  inside_step_ = true;
  if (closed_ || !MayClose()) return Wait(&lock);
  const bool awaited = mode_ == Mode::kNextNode ||
                       (mode_ == Mode::kUntilNode && node == awaited_node_);
  if (!hits.empty() && !past_hits_) {
    Close(v1::PAUSE_REASON_WATCHPOINT, node, hits);
  } else if (awaited) {
    Close(v1::PAUSE_REASON_NODE, node, {});
  } else if (pause_asked_ == Asked::kAnywhere) {
    Close(v1::PAUSE_REASON_USER, node, {});
  }
  return Wait(&lock);
}

graphdbg_status Gate::AtStepEnd(uint64_t step,
                                const std::vector<uint32_t>& hits) {
  Lock lock(mu_);
  steps_ended_ = step;
  inside_step_ = false;
  if (!closed_ && MayClose()) {
    if (!hits.empty()) {
      Close(v1::PAUSE_REASON_WATCHPOINT, 0, hits);
    } else if (mode_ == Mode::kSteps && step >= last_step_) {
      Close(v1::PAUSE_REASON_STEP, 0, {});
    } else if (pause_asked_ != Asked::kNo) {
      Close(v1::PAUSE_REASON_USER, 0, {});
    }
  }
  return Wait(&lock);
}

void Gate::Close(v1::PauseReason reason, uint32_t node,
                 const std::vector<uint32_t>& watchpoints) {
  closed_ = true;
  closed_since_ = std::chrono::steady_clock::now();
  ++pauses_;
  mode_ = Mode::kFree;
  past_hits_ = false;
  Await("", 0);
  pause_asked_ = Asked::kNo;
  pause_.Clear();
  pause_.set_state(v1::RUN_STATE_PAUSED);
  pause_.set_reason(reason);
  pause_.set_step(steps_ended_ + (node != 0 ? 1 : 0));
  pause_.set_node_id(node);
  pause_.set_step_ended(node == 0);
  *pause_.mutable_watchpoints() = {watchpoints.begin(), watchpoints.end()};
  Report();
  AnswerPause();
}

graphdbg_status Gate::Answer() const {
  return terminate_ ? GRAPHDBG_TERMINATE : GRAPHDBG_OK;
}

graphdbg_status Gate::Wait(Lock* lock) {
  if (!closed_) return Answer();
  lock->unlock();
  listener_.on_needs();
  void* token = host_->BeginWait();
  bool interrupted = false;
  lock->lock();
  while (closed_ && !interrupted) {
    opened_.wait_for(*lock, kInterruptPoll);
    if (!closed_) break;
    lock->unlock();
    interrupted = host_->Interrupted(token);
    lock->lock();
  }
  if (interrupted) OpenForMode(Mode::kFree);
  const graphdbg_status status = terminate_    ? GRAPHDBG_TERMINATE
                                 : interrupted ? GRAPHDBG_INTERRUPTED
                                               : GRAPHDBG_OK;
  lock->unlock();
  // Whoever reads the program's memory finishes first.
  reading_mu_.lock();
  reading_mu_.unlock();
  host_->EndWait(token);
  listener_.on_needs();
  return status;
}

// --- Questions

Gate::Needs Gate::needs() const {
  Lock lock(mu_);
  Needs needs;
  needs.every_node = closed_ || terminate_ ||
                     pause_asked_ == Asked::kAnywhere ||
                     mode_ == Mode::kNextNode;
  needs.tensors = closed_ || pause_asked_ != Asked::kNo ||
                  mode_ == Mode::kNextNode || mode_ == Mode::kUntilNode ||
                  (mode_ == Mode::kSteps && steps_ended_ + 1 >= last_step_);
  needs.awaited_node = awaited_node_;
  needs.new_nodes = !awaited_name_.empty() && awaited_node_ == 0;
  needs.paused = closed_;
  needs.pauses = pauses_;
  return needs;
}

std::string Gate::awaited() const {
  Lock lock(mu_);
  return awaited_name_;
}

uint64_t Gate::step() const {
  Lock lock(mu_);
  return State().step();
}

bool Gate::terminating() const {
  Lock lock(mu_);
  return terminate_;
}

std::optional<std::chrono::steady_clock::time_point> Gate::closed_since()
    const {
  Lock lock(mu_);
  if (!closed_) return std::nullopt;
  return closed_since_;
}

v1::StateUpdate Gate::State() const {
  if (closed_) return pause_;
  v1::StateUpdate state;
  state.set_state(v1::RUN_STATE_RUNNING);
  state.set_step(steps_ended_ + (inside_step_ ? 1 : 0));
  state.set_step_ended(!inside_step_);
  if (pause_asked_ != Asked::kNo) state.set_pauses_after(steps_ended_ + 1);
  return state;
}

void Gate::Report() {
  if (!started_) return;
  const v1::StateUpdate state = State();
  reported_step_ = state.step();
  listener_.on_state(state);
}

void Gate::ReportState(bool always) {
  Lock lock(mu_);
  if (always || (!closed_ && State().step() != reported_step_)) Report();
}

std::unique_lock<std::mutex> Gate::HoldPaused(uint64_t* pause) {
  Lock reading(reading_mu_);
  Lock lock(mu_);
  if (!closed_) {
    lock.unlock();
    reading.unlock();
    return reading;
  }
  *pause = pauses_;
  return reading;
}

}  // namespace graphdbg::agent
