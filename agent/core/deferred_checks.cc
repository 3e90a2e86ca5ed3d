#include "agent/core/deferred_checks.h"

#include <chrono>
#include <thread>

namespace graphdbg::agent {
namespace {

// How often, and at which interval, to check for room on a device.
constexpr int kAttempts = 2000;
constexpr auto kAttemptInterval = std::chrono::microseconds(50);

}  // namespace

bool DeferredChecks::CanWait(const WatchSnapshot::Set& set, bool* stops) {
  *stops = false;
  for (const Watchpoint* watchpoint : set.watchpoints) {
    // Has been reported already.
    if (watchpoint->predicate.on_execution()) continue;
    if (watchpoint->pause == v1::PAUSE_MODE_NODE ||
        !watchpoint->predicate.uses_statistics_only()) {
      return false;
    }
    *stops |= watchpoint->pause == v1::PAUSE_MODE_STEP;
  }
  return true;
}

void DeferredChecks::Copy(const Execution& execution, Pending* pending) {
  pending->inputs.clear();
  pending->outputs.clear();
  pending->shapes.clear();
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const graphdbg_input& input = execution.inputs[i];
    graphdbg_input& copy = pending->inputs.emplace_back(
        graphdbg_input{input.node, input.slot, {}});
    copy.tensor.struct_size = sizeof(graphdbg_tensor);
    copy.tensor.dtype = input.tensor.dtype;
    copy.tensor.device = input.tensor.device;
    copy.tensor.data = input.tensor.data;
    copy.tensor.storage_id = input.tensor.storage_id;
  }
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    const graphdbg_tensor& output = execution.outputs[i];
    pending->outputs.push_back(output);
    pending->outputs.back().struct_size = sizeof(graphdbg_tensor);
    pending->outputs.back().strides = nullptr;
    pending->outputs.back().owner = nullptr;
    pending->shapes.insert(pending->shapes.end(), output.shape,
                           output.shape + output.ndim);
  }
  const int64_t* shape = pending->shapes.data();
  for (graphdbg_tensor& output : pending->outputs) {
    output.shape = shape;
    shape += output.ndim;
  }
  pending->execution = execution;
  pending->execution.inputs =
      Inputs(pending->inputs.data(), pending->inputs.size());
  pending->execution.outputs =
      Tensors(pending->outputs.data(), pending->outputs.size());
}

DeferredChecks::PendingPtr DeferredChecks::NewPending() {
  MutexLock lock(&mu_);
  if (spare_.empty()) return std::make_unique<Pending>();
  PendingPtr pending = std::move(spare_.back());
  spare_.pop_back();
  return pending;
}

bool DeferredChecks::Take(const std::shared_ptr<const WatchSnapshot>& watch,
                          const Execution& execution,
                          const ExecutionPoint& point,
                          const Findings& findings) {
  const WatchSnapshot::Set* set = watch->On(execution.node);
  bool stops = false;
  if (set == nullptr || execution.outputs.size() == 0 ||
      execution.outputs[0].device == GRAPHDBG_CPU || !CanWait(*set, &stops)) {
    return false;
  }
  runtime::Stream stream = nullptr;
  runtime::Accelerator* device = nullptr;
  std::vector<TensorView> views;
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    const graphdbg_tensor& output = execution.outputs[i];
    if (!HasValues(output) || output.device == GRAPHDBG_CPU) return false;
    runtime::Accelerator* const at = devices_->OnStream(output, &stream);
    if (at == nullptr || (device != nullptr && at != device)) return false;
    device = at;
    views.push_back(ViewOf(output));
  }
  if (!checker_->Begin(*watch, execution, point)) return true;
  PendingPtr pending = NewPending();
  absl::Status launched = device->Launch(views, stream, &pending->tickets);
  // If the device is far behind, its oldest results make room one by one.
  // Waiting for the whole stream would leave it without work.
  for (int i = 0; launched.code() == absl::StatusCode::kResourceExhausted &&
                  i <= kAttempts;
       ++i) {
    if (i == kAttempts) device->Synchronize(stream).IgnoreError();
    ProcessCompleted();
    launched = device->Launch(views, stream, &pending->tickets);
    if (!launched.ok()) std::this_thread::sleep_for(kAttemptInterval);
  }
  if (!launched.ok()) return false;
  Copy(execution, pending.get());
  pending->watch = watch;
  pending->point = point;
  // The program's stack has changed by the time the check is completed.
  pending->point.in_progress = false;
  pending->recorder = findings.recorder;
  pending->may_wait = findings.may_wait;
  pending->device = device;
  pending->stream = stream;
  pending->stops = stops;
  MutexLock lock(&mu_);
  stopping_ += stops ? 1 : 0;
  pending_.push_back(std::move(pending));
  return true;
}

bool DeferredChecks::Arrived(const Pending& pending) const {
  for (const runtime::Ticket& ticket : pending.tickets) {
    if (!pending.device->Done(ticket)) return false;
  }
  return true;
}

DeferredChecks::PendingPtr DeferredChecks::TakeOldest(bool only_arrived) {
  MutexLock lock(&mu_);
  if (pending_.empty() || (only_arrived && !Arrived(*pending_.front()))) {
    return nullptr;
  }
  PendingPtr oldest = std::move(pending_.front());
  pending_.pop_front();
  stopping_ -= oldest->stops ? 1 : 0;
  return oldest;
}

void DeferredChecks::Process(PendingPtr pending) {
  if (!Arrived(*pending)) {
    pending->device->Synchronize(pending->stream).IgnoreError();
  }
  if (pending->point.step != measured_step_) {
    DecideInfinities();
    measured_.clear();
    measured_step_ = pending->point.step;
  }
  std::vector<std::optional<Statistics>> outputs;
  for (uint32_t slot = 0; slot < pending->tickets.size(); ++slot) {
    // A device that failed has no result; its error has been reported.
    const bool arrived = pending->device->Done(pending->tickets[slot]);
    const Statistics statistics = pending->device->Take(pending->tickets[slot]);
    outputs.emplace_back();
    if (!arrived) continue;
    outputs.back() = statistics;
    measured_[{pending->execution.node, slot}] = statistics;
  }
  Findings findings;
  findings.recorder = pending->recorder;
  findings.may_wait = pending->may_wait;
  checker_->CheckMeasured(*pending->watch, pending->execution, outputs,
                          measured_, pending->point, &findings);
  if (undecided_.any() || !findings.undecided.empty()) {
    undecided_.Executed(pending->execution, pending->point, &outputs,
                        &findings);
  }
  if (!findings.empty()) report_(std::move(findings));
  pending->watch.reset();
  MutexLock lock(&mu_);
  spare_.push_back(std::move(pending));
}

void DeferredChecks::DecideInfinities() {
  Findings findings;
  undecided_.EndStep(&findings);
  if (!findings.empty()) report_(std::move(findings));
}

void DeferredChecks::ProcessAll(bool only_arrived) {
  MutexLock judging(&processing_mu_);
  while (PendingPtr oldest = TakeOldest(only_arrived)) {
    Process(std::move(oldest));
  }
}

void DeferredChecks::ProcessCompleted() { ProcessAll(/*only_arrived=*/true); }

void DeferredChecks::EndStep() {
  bool stops;
  {
    MutexLock lock(&mu_);
    stops = stopping_ > 0 || undecided_.any_stops();
  }
  if (stops) {
    ProcessAll(/*only_arrived=*/false);
  } else {
    ProcessCompleted();
  }
  if (!undecided_.any()) return;
  MutexLock processing(&processing_mu_);
  {
    MutexLock lock(&mu_);
    // Those that are pending may be readers.
    if (!pending_.empty()) return;
  }
  DecideInfinities();
}

void DeferredChecks::Drop() {
  MutexLock judging(&processing_mu_);
  while (PendingPtr oldest = TakeOldest(/*only_arrived=*/false)) {
    if (!Arrived(*oldest)) {
      oldest->device->Synchronize(oldest->stream).IgnoreError();
    }
    for (const runtime::Ticket& ticket : oldest->tickets) {
      oldest->device->Take(ticket);
    }
  }
}

}  // namespace graphdbg::agent
