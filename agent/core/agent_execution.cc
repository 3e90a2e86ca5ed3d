// What happens on the program's own threads.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/agent.h"
#include "agent/core/log.h"
#include "agent/kernels/cpu/cpu_statistics.h"

namespace graphdbg::agent {
namespace {

constexpr auto kInterruptPoll = std::chrono::milliseconds(50);
// So many parameters and buffers are measured before the program's thread waits
// for them: one launch, and fewer than the results that a device can have under
// way.
constexpr size_t kBatchSize = 64;
// A late start still gives the server a moment.
constexpr auto kLastChance = std::chrono::seconds(1);

std::string Seconds(std::chrono::milliseconds time) {
  return absl::StrCat(static_cast<double>(time.count()) / 1000, " s");
}

}  // namespace

graphdbg_status Agent::WaitForServer() {
  const auto now = std::chrono::steady_clock::now();
  const auto deadline =
      std::max(opened_at_ + config_.connect_timeout,
               now + std::min<std::chrono::milliseconds>(
                         config_.connect_timeout, kLastChance));
  const auto settled = [this] {
    const bool all_here =
        connection_ == Connection::kUp && awaited_watchpoints_ == 0;
    return all_here || connection_ == Connection::kLost || !live();
  };
  std::unique_lock<std::mutex> lock(mu_);
  if (!settled()) {
    lock.unlock();
    void* token = host_.BeginWait();
    bool interrupted = false;
    lock.lock();
    while (!settled() && !interrupted &&
           std::chrono::steady_clock::now() < deadline) {
      changed_.wait_for(lock, kInterruptPoll);
      lock.unlock();
      interrupted = host_.Interrupted(token);
      lock.lock();
    }
    lock.unlock();
    host_.EndWait(token);
    if (interrupted) return GRAPHDBG_INTERRUPTED;
    lock.lock();
  }
  const bool never = connection_ == Connection::kNever;
  lock.unlock();
  if (never) {
    Detach(absl::StrCat("no server at ", ServerName(), " after ",
                        Seconds(config_.connect_timeout),
                        "; training goes on undebugged"));
  }
  return live() ? GRAPHDBG_OK : GRAPHDBG_DETACHED;
}

graphdbg_status Agent::Start() {
  if (!live()) return GRAPHDBG_DETACHED;
  if (started_.exchange(true)) return GRAPHDBG_OK;
  const graphdbg_status found = WaitForServer();
  if (found != GRAPHDBG_OK) return found;
  RecordDevices();
  MarkIntentionalInfinities();
  bool wait = config_.wait;
  std::string page;
  {
    std::lock_guard<std::mutex> lock(mu_);
    wait &= !start_running_;
    page = page_address_;
  }
  // Else a program that waits looks like one that hangs.
  if (wait && !page.empty()) {
    LogToStderr(
        absl::StrCat("waits for Continue before the first step: ", page));
  }
  graphdbg_status status = GRAPHDBG_OK;
  if (wait) status = gate_.Start(/*wait=*/true, {});
  // Most watchpoints come during the wait.
  if (status == GRAPHDBG_OK) {
    Findings findings;
    findings.recorder = &recorder_;
    CheckBoundTensors(0, &findings);
    ReportStatistics(0);
    std::vector<uint32_t> stops = findings.stop_at_step_end;
    Report(std::move(findings), &stops);
    if (!wait || !stops.empty()) status = gate_.Start(/*wait=*/false, stops);
  }
  running_ = true;
  KeepPreviousBound(0);
  UpdateNeeds();
  return live() ? status : GRAPHDBG_DETACHED;
}

// Where its parameters are says where it trains, though nothing is watched.
void Agent::RecordDevices() {
  BoundTensor bound;
  for (const auto& [node, handle] : bindings_.All()) {
    if (ResolveBound(handle, &bound)) devices_.Note(bound.tensor);
  }
}

// A buffer that holds infinities before the first step was made with them, as
// the mask of an attention.
void Agent::MarkIntentionalInfinities() {
  BoundTensor bound;
  for (const auto& [node, handle] : bindings_.All()) {
    const graphdbg_node_kind kind = nodes_.InfoOf(node).kind;
    if (kind != GRAPHDBG_BUFFER && kind != GRAPHDBG_CONSTANT) continue;
    Statistics statistics;
    if (!ResolveBound(handle, &bound)) continue;
    const TensorView view = ViewOf(bound.tensor);
    const TensorAccess access(&devices_, bound.tensor, /*running=*/true);
    const bool measured =
        access.ok() &&
        (access.backend() != nullptr
             ? access.backend()->ComputeStatistics(view, &statistics)
             : cpu::ComputeStatistics(view, &statistics));
    if (!measured) continue;
    if (statistics.inf_count() > 0 && statistics.nan_count == 0) {
      nodes_.Facts(node)->intentional_infinities_in_step = NodeFacts::kAlways;
    }
  }
}

bool Agent::ResolveBound(void* bound, BoundTensor* out) const {
  return host_.Resolve(bound, &out->tensor, out->shape, out->strides);
}

struct Agent::BoundNode {
  uint32_t node;
  std::unique_ptr<BoundTensor> value;
};

void Agent::CheckBoundTensors(uint64_t step, Findings* findings) {
  const std::shared_ptr<const WatchSnapshot> watch = watch_.snapshot();
  if (watch->empty()) return;
  BoundTensor bound;
  std::vector<BoundNode> on_devices;
  for (const auto& [node, handle] : bindings_.All()) {
    // Inputs are looked at when they are given.
    if (watch->On(node) == nullptr ||
        nodes_.InfoOf(node).kind == GRAPHDBG_INPUT ||
        !ResolveBound(handle, &bound)) {
      continue;
    }
    if (bound.tensor.device != GRAPHDBG_CPU) {
      on_devices.push_back({node, std::make_unique<BoundTensor>()});
      ResolveBound(handle, on_devices.back().value.get());
      continue;
    }
    CheckBoundTensor(*watch, node, bound, step, findings);
  }
  CheckBoundOnDevices(*watch, std::move(on_devices), step, findings);
}

void Agent::CheckBoundTensor(const WatchSnapshot& watch, uint32_t node,
                             const BoundTensor& bound, uint64_t step,
                             Findings* findings) {
  const auto previous = previous_bound_.Before(step, node, 0);
  graphdbg_tensor before;
  if (previous != nullptr) before = previous->tensor();
  checker_.CheckBound(watch, node, bound.tensor,
                      previous != nullptr ? &before : nullptr,
                      {step, NextOrder()}, findings);
}

// What statistics decide is measured together, with few launches and waits.
void Agent::CheckBoundOnDevices(const WatchSnapshot& watch,
                                std::vector<BoundNode> nodes, uint64_t step,
                                Findings* findings) {
  using Place = std::pair<runtime::Accelerator*, runtime::Stream>;
  std::map<Place, std::vector<std::vector<BoundNode*>>> together;
  for (BoundNode& node : nodes) {
    const WatchSnapshot::Set& set = *watch.On(node.node);
    const auto uses_statistics_only = [](const Watchpoint* watchpoint) {
      return watchpoint->predicate.uses_statistics_only();
    };
    Place place;
    if (HasValues(node.value->tensor) &&
        std::all_of(set.watchpoints.begin(), set.watchpoints.end(),
                    uses_statistics_only)) {
      place.first = devices_.OnStream(node.value->tensor, &place.second);
    }
    if (place.first != nullptr) {
      auto& groups = together[place];
      if (groups.empty() || groups.back().size() == kBatchSize) {
        groups.emplace_back();
      }
      groups.back().push_back(&node);
    } else {
      CheckBoundTensor(watch, node.node, *node.value, step, findings);
    }
  }
  for (const auto& [place, groups] : together) {
    for (const auto& members : groups) {
      CheckBatch(watch, place.first, place.second, members, step, findings);
    }
  }
}

void Agent::CheckBatch(const WatchSnapshot& watch, runtime::Accelerator* device,
                       runtime::Stream stream,
                       const std::vector<BoundNode*>& members, uint64_t step,
                       Findings* findings) {
  std::vector<TensorView> views;
  for (const BoundNode* node : members) {
    views.push_back(ViewOf(node->value->tensor));
  }
  std::vector<runtime::Ticket> tickets;
  if (!device->Launch(views, stream, &tickets).ok()) {
    for (const BoundNode* node : members) {
      CheckBoundTensor(watch, node->node, *node->value, step, findings);
    }
    return;
  }
  const bool arrived = device->Synchronize(stream).ok();
  for (size_t i = 0; i < members.size(); ++i) {
    const Statistics statistics = device->Take(tickets[i]);
    if (!arrived) continue;
    checker_.CheckBoundMeasured(watch, members[i]->node,
                                members[i]->value->tensor, statistics,
                                {step, NextOrder()}, findings);
  }
}

// Costs a copy of what is kept, so it is done where somebody needs it: for
// conditions that compare, and for people who step and may want to compare.
void Agent::KeepPreviousBound(uint64_t step) {
  const std::shared_ptr<const WatchSnapshot> watch = watch_.snapshot();
  const bool stepped = gate_.needs().tensors && live();
  if (stepped || watch->needs_previous()) {
    BoundTensor bound;
    for (const auto& [node, handle] : bindings_.All()) {
      const WatchSnapshot::Set* set = watch->On(node);
      const bool looked_at = stepped && (!config_.partial_memory ||
                                         nodes_.Facts(node)->has(kRequested));
      const bool compared = set != nullptr && set->needs.previous;
      if ((looked_at || compared) && ResolveBound(handle, &bound)) {
        previous_bound_.Keep(node, 0, bound.tensor, step);
      }
    }
  }
  previous_bound_.DropOlderThan(step);
  if (!watch->needs_previous()) previous_outputs_.Clear();
  kept_.Reserve(previous_bound_.bytes() + previous_outputs_.bytes());
}

void Agent::KeepPreviousOutputs(const WatchSnapshot& watch,
                                const Execution& execution, SeenValues* seen,
                                uint64_t step) {
  if (!watch.needs_previous()) return;
  const WatchSnapshot::Set* set = watch.On(execution.node);
  if (set == nullptr || !set->needs.previous) return;
  for (uint32_t slot = 0; slot < execution.outputs.size(); ++slot) {
    const graphdbg_tensor& output = execution.outputs[slot];
    std::shared_ptr<const PreviousValue> same;
    if (seen != nullptr && IsView(execution, output)) {
      same = seen->Find(output).copy;
    }
    const auto copy =
        previous_outputs_.Keep(execution.node, slot, output, step, same);
    if (seen != nullptr && same == nullptr) seen->PutCopy(output, copy);
  }
}

void Agent::KeepMissedOutputs(uint64_t step) {
  std::shared_ptr<const WatchSnapshot> watch = watch_.snapshot();
  if (watch == kept_for_) return;
  kept_for_ = watch;
  if (!watch->needs_previous()) return;
  for (const KeptTensors::Kept& kept : kept_.All()) {
    const WatchSnapshot::Set* set = watch->On(kept.node);
    if (set == nullptr || !set->needs.previous || kept.tensor->step() != step ||
        kept_.Overwritten(*kept.tensor)) {
      continue;
    }
    const auto newest =
        previous_outputs_.Before(step + 1, kept.node, kept.slot);
    if (newest != nullptr && newest->step() == step) continue;
    previous_outputs_.Keep(kept.node, kept.slot, kept.tensor->tensor(), step);
  }
}

int Agent::Interest(uint32_t node) {
  const NodeFacts* facts = nodes_.Facts(node);
  if (facts == nullptr) return GRAPHDBG_INTEREST_NONE;
  const uint8_t wanted = interest_flags_.load(std::memory_order_relaxed);
  if (wanted == 0) return GRAPHDBG_INTEREST_NONE;
  executions_.fetch_add(1, std::memory_order_relaxed);
  const uint8_t met = facts->flags.load(std::memory_order_relaxed) & wanted;
  if (met == 0) return GRAPHDBG_INTEREST_NONE;
  return (met & required_flags_.load(std::memory_order_relaxed)) != 0
             ? GRAPHDBG_INTEREST_REQUIRED
             : GRAPHDBG_INTEREST_OPTIONAL;
}

// Executions that nobody was interested in count, too.
uint64_t Agent::NextOrder() {
  uint64_t last = last_order_.load();
  uint64_t order;
  do {
    order = std::max(executions_.load(), last + 1);
  } while (!last_order_.compare_exchange_weak(last, order));
  return order;
}

graphdbg_status Agent::Executed(const graphdbg_execution& raw) {
  if (!live()) return GRAPHDBG_DETACHED;
  const NodeFacts* facts = nodes_.Facts(raw.node);
  if (facts == nullptr || !facts->has(kAnyNode)) {
    return GRAPHDBG_INVALID_ARGUMENT;
  }
  const Execution execution = ExecutionOf(raw);
  const ExecutionPoint point{steps_ended_.load() + 1, NextOrder()};
  nodes_.Learn(execution, point.order, point.step);
  if (execution.outputs.size() > 0) devices_.Note(execution.outputs[0]);
  std::vector<uint32_t> stops;
  const WatchSnapshot& watch = watch_.OnThisThread();
  Findings findings;
  findings.recorder = &recorder_;
  SeenValues* const seen = sees_writes_ ? &seen_ : nullptr;
  if (execution.has(GRAPHDBG_IN_PLACE)) {
    for (size_t i = 0; i < execution.outputs.size(); ++i) {
      seen_.RecordWrite(execution.outputs[i].storage_id);
    }
  }
  const bool deferred =
      execution.outputs.size() > 0 &&
      execution.outputs[0].device != GRAPHDBG_CPU &&
      deferred_.Take(watch_.snapshot(), execution, point, &recorder_);
  if (!deferred) {
    checker_.CheckExecution(watch, execution, &previous_outputs_, seen, point,
                            &findings);
  }
  KeepPreviousOutputs(watch, execution, seen, point.step);
  KeepTensors(execution, point.step, !findings.hits.empty());
  if (!findings.empty()) Report(std::move(findings), &stops);
  if (stops.empty() && !gate_wants_every_node_ && !facts->has(kAwaited)) {
    return GRAPHDBG_OK;
  }
  const graphdbg_status status = gate_.AtNode(raw.node, stops);
  return live() ? status : GRAPHDBG_DETACHED;
}

void Agent::KeepTensors(const Execution& execution, uint64_t step, bool hit) {
  const Keep keep = keep_.load(std::memory_order_relaxed);
  const NodeFacts& facts = *nodes_.Facts(execution.node);
  const bool requested = facts.has(kRequested);
  if (keep == Keep::kNothing && !hit && !requested && !catching_) return;
  const bool wrote = execution.has(GRAPHDBG_IN_PLACE);
  if (hit || keep == Keep::kEverything || requested || facts.has(kWatched) ||
      facts.has(kAwaited)) {
    kept_.KeepOutputs(execution.node, execution.outputs, wrote, step);
  } else if (wrote) {
    for (size_t i = 0; i < execution.outputs.size(); ++i) {
      kept_.RecordWrite(execution.outputs[i].storage_id);
    }
  }
  if (!hit) return;
  // What the node read, as far as it is not kept as somebody's output.
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const graphdbg_input& input = execution.inputs[i];
    if (nodes_.Facts(input.node) == nullptr ||
        bindings_.Find(input.node) != nullptr ||
        kept_.Has(input.node, input.slot)) {
      continue;
    }
    kept_.Keep(input.node, input.slot, input.tensor, step);
  }
}

void Agent::ReleaseStep() {
  if (!catching_) return kept_.Clear();
  kept_.ClearExcept(requested_.to_catch());
}

void Agent::Report(Findings findings, std::vector<uint32_t>* stop_here) {
  if (!findings.notice.empty()) Notify(findings.notice);
  stop_here->insert(stop_here->end(), findings.stop_here.begin(),
                    findings.stop_here.end());
  if (!findings.stop_at_step_end.empty()) {
    std::lock_guard<std::mutex> lock(mu_);
    for (uint32_t id : findings.stop_at_step_end) {
      auto& stops = step_end_stops_;
      if (std::find(stops.begin(), stops.end(), id) == stops.end()) {
        stops.push_back(id);
      }
    }
  }
  for (v1::Hit& hit : findings.hits) outbox_.PutHit(std::move(hit));
  for (v1::WatchpointStatus& status : findings.unchecked) {
    outbox_.PutWatchpointStatus(std::move(status));
  }
}

void Agent::ReportStatistics(uint64_t step) {
  v1::StatisticsReport report =
      recorder_.EndStep(step, StatisticsRecorder::Clock::now());
  if (report.tensors_size() > 0) outbox_.PutStatistics(std::move(report));
}

graphdbg_status Agent::StepEnd() {
  if (!live()) return GRAPHDBG_DETACHED;
  const uint64_t step = steps_ended_.load() + 1;
  if (step == 1) RecordDevices();
  Findings findings;
  findings.recorder = &recorder_;
  deferred_.EndStep();
  CheckBoundTensors(step, &findings);
  ReportStatistics(step);
  std::vector<uint32_t> stops;
  Report(std::move(findings), &stops);
  {
    std::lock_guard<std::mutex> lock(mu_);
    stops.insert(stops.end(), step_end_stops_.begin(), step_end_stops_.end());
    step_end_stops_.clear();
  }
  steps_ended_ = step;
  first_step_ended_ = true;
  const graphdbg_status status = gate_.AtStepEnd(step, stops);
  KeepMissedOutputs(step);
  KeepPreviousBound(step);
  ReleaseStep();
  seen_.Clear();
  executions_ = 0;
  last_order_ = 0;
  if (!live()) return GRAPHDBG_DETACHED;
  UpdateNeeds();
  return status;
}

}  // namespace graphdbg::agent
