#include "agent/core/gate.h"

#include <algorithm>
#include <utility>

#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

// How often a waiting thread checks whether the host was interrupted.
constexpr auto kInterruptPoll = std::chrono::milliseconds(50);

absl::Status InvalidState(absl::string_view message) {
  return wire::MakeError(absl::StatusCode::kFailedPrecondition, "invalid_state",
                         message);
}

}  // namespace

Gate::Gate(const Host* host, const NodeTable* nodes, Listener listener,
           bool hold, uint64_t step_limit)
    : host_(host),
      nodes_(nodes),
      listener_(std::move(listener)),
      hold_(hold),
      step_limit_(step_limit) {}

// --- Commands

void Gate::Apply(const v1::Command& command, uint32_t awaited_node) {
  {
    MutexLock lock(&mu_);
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
  if (open_permanently_) return InvalidState("the program is ending");
  const bool failed = closed_ && pause_.reason() == v1::PAUSE_REASON_ERROR;
  switch (command.action_case()) {
    case v1::Command::kPause:
    case v1::Command::kTerminate:
      return absl::OkStatus();
    case v1::Command::kContinue:
      // Also cancels a pause that has not taken effect yet.
      return closed_ || pause_request_ != PauseRequest::kNone
                 ? absl::OkStatus()
                 : InvalidState("the program is running");
    case v1::Command::kContinueTo:
      if (awaited_node == 0 && !command.continue_to().pending()) {
        return wire::MakeError(absl::StatusCode::kNotFound, "unknown_node",
                               "this rank has no node of that name");
      }
      break;
    default:
      break;
  }
  if (failed) {
    return InvalidState("an exception ends the program, which can only end");
  }
  return closed_ ? absl::OkStatus() : InvalidState("the program is running");
}

void Gate::Take(const v1::Command& command, uint32_t awaited_node) {
  switch (command.action_case()) {
    case v1::Command::kContinue:
      OpenForMode(Mode::kFree);
      break;
    case v1::Command::kStep:
      // Within a step, the end of that step counts as the first, so the number
      // is the same.
      last_step_ = steps_ended_ + std::max<uint64_t>(command.step().steps(), 1);
      OpenForMode(Mode::kSteps);
      past_hits_ = command.step().past_hits();
      break;
    case v1::Command::kNextNode:
      goal_ = NodeGoal(command.next_node(), pause_.node_id(), *nodes_);
      OpenForMode(Mode::kNextNode);
      break;
    case v1::Command::kContinueTo:
      Await(command.continue_to().node(), awaited_node);
      OpenForMode(Mode::kUntilNode);
      break;
    case v1::Command::kPause:
      pause_commands_.push_back(command.id());
      if (closed_) return AnswerPauseCommands();
      pause_request_ = std::max(pause_request_, command.pause().at_step_end()
                                                    ? PauseRequest::kAtStepEnd
                                                    : PauseRequest::kAnywhere);
      // Answered once it takes effect; the step after which that happens is
      // reported at once.
      return Report();
    case v1::Command::kTerminate:
      terminate_ = true;
      open_permanently_ = true;
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
  pause_request_ = PauseRequest::kNone;
  AnswerPauseCommands();
  if (!closed_) return;
  closed_ = false;
  Report();
  opened_.NotifyAll();
}

void Gate::Await(const std::string& name, uint32_t node) {
  awaited_name_ = name;
  awaited_node_ = node;
}

void Gate::NodeDeclared(absl::string_view name, uint32_t node) {
  {
    MutexLock lock(&mu_);
    if (awaited_name_.empty() || awaited_node_ != 0 || awaited_name_ != name) {
      return;
    }
    awaited_node_ = node;
  }
  listener_.on_needs();
}

void Gate::AnswerPauseCommands() {
  for (uint64_t id : std::exchange(pause_commands_, {})) {
    listener_.on_command(id, absl::OkStatus());
  }
}

void Gate::SetConnected(bool connected) {
  {
    MutexLock lock(&mu_);
    connected_ = connected;
    // Ids of commands are valid within their stream only.
    pause_commands_.clear();
    if (!connected && !closed_ && !hold_) {
      mode_ = Mode::kFree;
      past_hits_ = false;
      Await("", 0);
      pause_request_ = PauseRequest::kNone;
    }
  }
  listener_.on_needs();
}

void Gate::Resume() {
  {
    MutexLock lock(&mu_);
    OpenForMode(Mode::kFree);
  }
  listener_.on_needs();
}

void Gate::Open(bool terminate) {
  {
    MutexLock lock(&mu_);
    open_permanently_ = true;
    terminate_ |= terminate;
    OpenForMode(Mode::kFree);
  }
  listener_.on_needs();
}

// --- Execution points

bool Gate::IsGoal(uint32_t node) const {
  return (mode_ == Mode::kNextNode && goal_.Includes(node)) ||
         (mode_ == Mode::kUntilNode && node == awaited_node_);
}

bool Gate::IsLastStep(uint64_t step) const {
  return (mode_ == Mode::kSteps && step >= last_step_) ||
         (mode_ == Mode::kNextNode && goal_.passes_over());
}

bool Gate::IsAtLimit(uint64_t step) const {
  return step_limit_ != 0 && step >= step_limit_ && connected_;
}

bool Gate::MayClose() const {
  return !open_permanently_ && (connected_ || hold_);
}

graphdbg_status Gate::Start(bool wait, const std::vector<uint32_t>& hits) {
  {
    MutexLock lock(&mu_);
    started_ = true;
    if (!closed_ && MayClose()) {
      if (!hits.empty()) {
        Close(v1::PAUSE_REASON_WATCHPOINT, 0, hits);
      } else if (wait || pause_request_ != PauseRequest::kNone) {
        Close(v1::PAUSE_REASON_START, 0, {});
      }
    }
    if (!closed_) {
      Report();
      return Result();
    }
  }
  return WaitUntilOpen();
}

graphdbg_status Gate::AtNode(uint32_t node, const std::vector<uint32_t>& hits) {
  {
    MutexLock lock(&mu_);
    inside_step_ = true;
    if (!closed_ && MayClose()) {
      if (!hits.empty() && !past_hits_) {
        Close(v1::PAUSE_REASON_WATCHPOINT, node, hits);
      } else if (IsGoal(node)) {
        Close(v1::PAUSE_REASON_NODE, node, {});
      } else if (pause_request_ == PauseRequest::kAnywhere) {
        Close(v1::PAUSE_REASON_USER, node, {});
      }
    }
    if (!closed_) return Result();
  }
  return WaitUntilOpen();
}

graphdbg_status Gate::AtStepEnd(uint64_t step,
                                const std::vector<uint32_t>& hits) {
  {
    MutexLock lock(&mu_);
    steps_ended_ = step;
    inside_step_ = false;
    if (!closed_ && MayClose()) {
      if (!hits.empty()) {
        Close(v1::PAUSE_REASON_WATCHPOINT, 0, hits);
      } else if (IsLastStep(step) || IsAtLimit(step)) {
        Close(v1::PAUSE_REASON_STEP, 0, {});
      } else if (pause_request_ != PauseRequest::kNone) {
        Close(v1::PAUSE_REASON_USER, 0, {});
      }
    }
    if (!closed_) return Result();
  }
  return WaitUntilOpen();
}

void Gate::Close(v1::PauseReason reason, uint32_t node,
                 const std::vector<uint32_t>& watchpoints) {
  v1::StateUpdate pause;
  pause.set_reason(reason);
  pause.set_step(steps_ended_ + (node != 0 ? 1 : 0));
  pause.set_node_id(node);
  pause.set_step_ended(node == 0);
  *pause.mutable_watchpoints() = {watchpoints.begin(), watchpoints.end()};
  Close(std::move(pause));
}

void Gate::Close(v1::StateUpdate pause) {
  closed_ = true;
  closed_since_ = std::chrono::steady_clock::now();
  ++pauses_;
  mode_ = Mode::kFree;
  past_hits_ = false;
  Await("", 0);
  pause_request_ = PauseRequest::kNone;
  pause_ = std::move(pause);
  pause_.set_state(v1::RUN_STATE_PAUSED);
  Report();
  AnswerPauseCommands();
}

graphdbg_status Gate::AtFailure(const Failure& failure) {
  {
    MutexLock lock(&mu_);
    if (!closed_ && MayClose()) {
      v1::StateUpdate pause;
      pause.set_reason(v1::PAUSE_REASON_ERROR);
      pause.set_step(failure.step);
      pause.set_node_id(failure.node);
      *pause.mutable_exception() = failure.exception;
      pause.set_resume_if_unattended(failure.resume_if_unattended);
      Close(std::move(pause));
    }
    if (!closed_) return Result();
  }
  return WaitUntilOpen();
}

graphdbg_status Gate::Result() const {
  return terminate_ ? GRAPHDBG_TERMINATE : GRAPHDBG_OK;
}

graphdbg_status Gate::WaitUntilOpen() {
  listener_.on_needs();
  void* const token = host_->BeginWait();
  bool interrupted = false;
  graphdbg_status status;
  {
    MutexLock lock(&mu_);
    while (closed_ && !interrupted) {
      opened_.WaitFor(&mu_, kInterruptPoll);
      if (!closed_) break;
      lock.Unlock();
      interrupted = host_->Interrupted(token);
      lock.Lock();
    }
    if (interrupted) OpenForMode(Mode::kFree);
    status = interrupted && !terminate_ ? GRAPHDBG_INTERRUPTED : Result();
  }
  // A thread that reads the program's memory finishes first.
  { MutexLock reading(&reading_mu_); }
  host_->EndWait(token);
  listener_.on_needs();
  return status;
}

// --- Queries

Gate::Needs Gate::needs() const {
  MutexLock lock(&mu_);
  Needs needs;
  needs.every_node = closed_ || terminate_ ||
                     pause_request_ == PauseRequest::kAnywhere ||
                     mode_ == Mode::kNextNode;
  needs.tensors = closed_ || pause_request_ != PauseRequest::kNone ||
                  mode_ == Mode::kNextNode || mode_ == Mode::kUntilNode ||
                  (mode_ == Mode::kSteps && steps_ended_ + 1 >= last_step_);
  needs.awaited_node = awaited_node_;
  needs.new_nodes = !awaited_name_.empty() && awaited_node_ == 0;
  needs.paused = closed_;
  needs.pauses = pauses_;
  return needs;
}

std::string Gate::awaited() const {
  MutexLock lock(&mu_);
  return awaited_name_;
}

uint64_t Gate::step() const {
  MutexLock lock(&mu_);
  return State().step();
}

bool Gate::terminating() const {
  MutexLock lock(&mu_);
  return terminate_;
}

std::optional<std::chrono::steady_clock::time_point> Gate::closed_since()
    const {
  MutexLock lock(&mu_);
  if (!closed_) return std::nullopt;
  return closed_since_;
}

v1::StateUpdate Gate::State() const {
  if (closed_) return pause_;
  v1::StateUpdate state;
  state.set_state(v1::RUN_STATE_RUNNING);
  state.set_step(steps_ended_ + (inside_step_ ? 1 : 0));
  state.set_step_ended(!inside_step_);
  if (pause_request_ != PauseRequest::kNone)
    state.set_pauses_after(steps_ended_ + 1);
  return state;
}

void Gate::Report() {
  if (!started_) return;
  const v1::StateUpdate state = State();
  reported_step_ = state.step();
  listener_.on_state(state);
}

void Gate::ReportState(bool always) {
  MutexLock lock(&mu_);
  if (always || (!closed_ && State().step() != reported_step_)) Report();
}

// The lock moves into the result, which the analysis cannot follow.
Gate::Hold Gate::HoldPaused() GRAPHDBG_NO_THREAD_SAFETY_ANALYSIS {
  reading_mu_.Lock();
  {
    MutexLock lock(&mu_);
    if (closed_) return Hold(&reading_mu_, pauses_);
  }
  reading_mu_.Unlock();
  return Hold();
}

}  // namespace graphdbg::agent
