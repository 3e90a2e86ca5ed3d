#include "agent/core/checker.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/conditions/channels.h"
#include "agent/core/checker_inputs.h"
#include "agent/core/message_parts.h"
#include "agent/core/statistics_recorder.h"
#include "agent/kernels/cpu/sketch.h"
#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

using conditions::Outcome;

// How many frames are searched for a line of the user's code.
constexpr size_t kMaxCapturedFrames = 64;
// Ops of optimizers may have hundreds.
constexpr size_t kMaxHitInputs = 8;

void AddStepContext(const Execution& execution, v1::Hit* hit) {
  if (execution.grad_scale != 1) {
    (*hit->mutable_actual())["grad_scale"] = execution.grad_scale;
  }
  if (execution.micro_step > 1) {
    (*hit->mutable_actual())["micro_step"] = execution.micro_step;
  }
  if (execution.iteration > 0) {
    (*hit->mutable_actual())["iteration"] = execution.iteration;
  }
}

void RecordUnchecked(const Watchpoint& watchpoint, const absl::Status& why,
                     Findings* findings) {
  v1::WatchpointStatus status;
  status.set_id(watchpoint.id);
  status.set_revision(watchpoint.revision);
  *status.mutable_error() = wire::ToError(why);
  findings->unchecked.push_back(std::move(status));
}

void RecordStatistics(const Findings& findings, uint32_t node, uint32_t slot,
                      conditions::TensorMeasurements* measurements) {
  if (findings.recorder == nullptr) return;
  if (findings.recorder->recording()) {
    findings.recorder->Record(node, slot, measurements);
  } else {
    findings.recorder->LeaveOut();
  }
}

// Whether the watchpoint applies to tensors of this type.
bool Tests(const Watchpoint& watchpoint, const graphdbg_tensor& tensor) {
  return watchpoint.matcher.MatchesType(DTypeFromNumber(tensor.dtype));
}

// Larger tensors are not looked at here: what is found out about them is kept
// for views of them (SeenValues).
constexpr int64_t kSmallBytes = 64 << 10;

bool IsSmallAndFinite(const graphdbg_tensor& tensor) {
  return Readable(tensor) &&
         cpu::IsSmallAndFinite(ViewOf(tensor), kSmallBytes - 1);
}

// The value of an output in the previous step, if a condition needs it.
class PreviousOutput {
 public:
  PreviousOutput(const PreviousValues* values, const conditions::Needs& needs,
                 uint32_t node, uint32_t slot, const ExecutionPoint& point) {
    if (values == nullptr || !needs.previous) return;
    value_ = values->Before(point.step, node, slot);
    if (value_ != nullptr) view_ = value_->view();
  }

  void ApplyTo(TensorAccess* access) const {
    if (value_ != nullptr) access->SetPrevious(value_->tensor());
  }
  // Null if it is missing.
  const TensorView* view() const {
    return value_ == nullptr ? nullptr : &view_;
  }

 private:
  std::shared_ptr<const PreviousValue> value_;
  TensorView view_;
};

// Whether nobody has been told yet that the watchpoint cannot be checked.
bool IsFirstReport(const Watchpoint& watchpoint) {
  return watchpoint.first_missed_step.exchange(Watchpoint::kReported) !=
         Watchpoint::kReported;
}

}  // namespace

void Findings::AddStop(uint32_t watchpoint, v1::PauseMode pause) {
  std::vector<uint32_t>* stops = pause == v1::PAUSE_MODE_NODE ? &stop_here
                                 : pause == v1::PAUSE_MODE_STEP
                                     ? &stop_at_step_end
                                     : nullptr;
  if (stops == nullptr) return;
  if (std::find(stops->begin(), stops->end(), watchpoint) == stops->end()) {
    stops->push_back(watchpoint);
  }
}

bool Checker::Begin(const WatchSnapshot& watch, const Execution& execution,
                    const ExecutionPoint& point) const {
  NodeFacts* facts = nodes_->Facts(execution.node);
  if (execution.has(GRAPHDBG_EXPLICIT_NONFINITE)) {
    facts->intentional_infinities_in_step.store(point.step);
  }
  const bool uninitialized = IsUninitialized(execution, point.step);
  if (uninitialized) uninitialized_step_.store(point.step);
  facts->uninitialized_in_step.store(uninitialized ? point.step : UINT64_MAX,
                                     std::memory_order_relaxed);
  const WatchSnapshot::Set* const set = watch.On(execution.node);
  return set != nullptr && set->tests_values && !uninitialized;
}

bool Checker::IsPlainlyFine(const WatchSnapshot& watch,
                            const Execution& execution,
                            const ExecutionPoint& point) const {
  const WatchSnapshot::Set* const set = watch.On(execution.node);
  if (set == nullptr) {
    Begin(watch, execution, point);
    return true;
  }
  if (set->tests_execution || !set->only_nonfinite) return false;
  for (size_t slot = 0; slot < execution.outputs.size(); ++slot) {
    if (!IsSmallAndFinite(execution.outputs[slot])) return false;
  }
  if (!Begin(watch, execution, point)) return true;
  nodes_->Facts(execution.node)->RecordFinite(true, point.step);
  return true;
}

void Checker::ReportExecution(const WatchSnapshot& watch,
                              const Execution& execution,
                              const ExecutionPoint& point,
                              Findings* findings) const {
  const WatchSnapshot::Set* const set = watch.On(execution.node);
  if (set == nullptr || !set->tests_execution) return;
  const auto& outputs = execution.outputs;
  for (const Watchpoint* watchpoint : set->watchpoints) {
    if (!watchpoint->predicate.on_execution()) continue;
    uint32_t slot = 0;
    while (slot < outputs.size() && !Tests(*watchpoint, outputs[slot])) ++slot;
    // An op without outputs has no types that could be others.
    if (slot == outputs.size() && slot > 0) continue;
    if (!BeginsRun(*watchpoint, execution.node, point)) continue;
    v1::Hit hit = MakeHit(*watchpoint, execution.node, slot, point);
    if (slot < outputs.size()) *hit.mutable_type() = TypeOf(outputs[slot]);
    AddStepContext(execution, &hit);
    findings->hits.push_back(std::move(hit));
    findings->AddStop(watchpoint->id, watchpoint->pause);
  }
}

bool Checker::BeginsRun(const Watchpoint& watchpoint, uint32_t node,
                        const ExecutionPoint& point) const {
  return watchpoint.line_runs == nullptr ||
         watchpoint.line_runs->Begins(point.step, point.order,
                                      point.inputs_before, node);
}

void Checker::CheckExecution(const WatchSnapshot& watch,
                             const Execution& execution,
                             const PreviousValues* previous, SeenValues* seen,
                             const ExecutionPoint& point,
                             Findings* findings) const {
  if (!Begin(watch, execution, point)) return;
  const WatchSnapshot::Set& set = *watch.On(execution.node);
  Inputs inputs(execution, devices_, point.in_progress);
  bool all_finite = true;
  for (uint32_t slot = 0; slot < execution.outputs.size(); ++slot) {
    const graphdbg_tensor& tensor = execution.outputs[slot];
    const TensorView view = ViewOf(tensor);
    const PreviousOutput before(previous, set.needs, execution.node, slot,
                                point);
    TensorAccess access(devices_, tensor, point.in_progress);
    before.ApplyTo(&access);
    conditions::TensorMeasurements measurements(&view, before.view(),
                                                point.step);
    measurements.set_backend(access.backend());
    measurements.set_scale(execution.grad_scale);
    conditions::ScanResult known;
    const bool view_of_input = seen != nullptr &&
                               SeenValues::IsWorthwhile(tensor) &&
                               IsView(execution, tensor);
    if (view_of_input) known = seen->Find(tensor).scan;
    if (!access.ok() || !measurements.Measure(set.needs, known)) continue;
    if (seen != nullptr && !known.all_finite) {
      seen->Put(tensor, measurements.scan_result());
    }
    all_finite &= measurements.all_finite();
    TestOutput(set, execution, slot, &measurements, &inputs, point, findings);
  }
  RecordFinite(execution, inputs, all_finite, point);
}

void Checker::CheckMeasured(
    const WatchSnapshot& watch, const Execution& execution,
    const std::vector<std::optional<Statistics>>& outputs,
    const StepStatistics& known, const ExecutionPoint& point,
    Findings* findings) const {
  const WatchSnapshot::Set* set = watch.On(execution.node);
  if (set == nullptr) return;
  Inputs inputs(execution, devices_, /*running=*/false, &known);
  bool all_finite = true;
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    if (!outputs[slot]) continue;
    Statistics statistics = *outputs[slot];
    if (execution.grad_scale != 1) statistics.DivideBy(execution.grad_scale);
    conditions::TensorMeasurements measurements(statistics, nullptr,
                                                point.step);
    all_finite &= measurements.all_finite();
    TestOutput(*set, execution, slot, &measurements, &inputs, point, findings);
  }
  RecordFinite(execution, inputs, all_finite, point);
}

void Checker::TestOutput(const WatchSnapshot::Set& set,
                         const Execution& execution, uint32_t slot,
                         conditions::TensorMeasurements* measurements,
                         Inputs* inputs, const ExecutionPoint& point,
                         Findings* findings) const {
  const graphdbg_tensor& tensor = execution.outputs[slot];
  RecordStatistics(*findings, execution.node, slot, measurements);
  const bool grad_scaler_overflow =
      IsGradScalerOverflow(execution, tensor, measurements, inputs, point.step);
  if (grad_scaler_overflow)
    RecordGradScalerOverflow(execution, point.step, findings);
  // Determined only if a condition matches.
  std::optional<bool> intentional;
  for (const Watchpoint* watchpoint : set.For(*measurements)) {
    if (!Tests(*watchpoint, tensor)) continue;
    const conditions::Predicate& predicate = watchpoint->predicate;
    const Outcome outcome = predicate.Test(measurements);
    if (outcome == Outcome::kNoPrevious) {
      RecordMissingPrevious(*watchpoint, execution.node, point.step, findings);
    }
    if (outcome == Outcome::kNoFlag) {
      RecordMissingFlag(*watchpoint, tensor, findings);
    }
    if (outcome == Outcome::kTooManyChannels) {
      RecordTooManyChannels(*watchpoint, execution.node, findings);
    }
    if (outcome != Outcome::kMatched) continue;
    if (grad_scaler_overflow && predicate.matches_non_finite()) continue;
    if (predicate.matches_infinities() &&
        measurements->statistics().nan_count == 0) {
      if (!intentional) {
        intentional = InfinitiesAreIntentional(execution, inputs, measurements,
                                               point.step);
        if (*intentional) {
          nodes_->Facts(execution.node)
              ->intentional_infinities_in_step.store(point.step);
        }
      }
      if (*intentional) continue;
    }
    v1::Hit hit =
        MakeHit(*watchpoint, execution.node, slot, tensor, measurements, point);
    AddStepContext(execution, &hit);
    hit.set_origin(OriginOf(predicate, execution, inputs, point.step));
    const bool continues = Continues(*watchpoint, hit);
    if (!continues) AddInputs(execution, point.step, inputs, &hit);
    const v1::PauseMode pause = PauseFor(*watchpoint, continues);
    if (findings->may_wait && predicate.waits_for_reader() &&
        measurements->statistics().nan_count == 0) {
      findings->undecided.push_back({std::move(hit), pause});
      continue;
    }
    findings->hits.push_back(std::move(hit));
    findings->AddStop(watchpoint->id, pause);
  }
}

void Checker::RecordFinite(const Execution& execution, const Inputs& inputs,
                           bool all_finite, const ExecutionPoint& point) const {
  nodes_->Facts(execution.node)->RecordFinite(all_finite, point.step);
  if (all_finite || !execution.has(GRAPHDBG_IN_PLACE)) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    NodeFacts* const producer = nodes_->Facts(inputs.node(i));
    if (producer != nullptr && !inputs.Intact(i)) {
      producer->RecordFinite(false, point.step);
    }
  }
}

bool Checker::IsUninitialized(const Execution& execution, uint64_t step) const {
  if (execution.has(GRAPHDBG_UNINITIALIZED)) return true;
  if (!execution.has(GRAPHDBG_MOVES_VALUES) ||
      uninitialized_step_.load(std::memory_order_relaxed) != step) {
    return false;
  }
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const NodeFacts* producer = nodes_->Facts(execution.inputs[i].node);
    if (producer == nullptr || producer->uninitialized_in_step.load() != step) {
      return false;
    }
  }
  return execution.inputs.size() > 0;
}

bool Checker::WasFinite(uint32_t node, uint64_t step) const {
  const NodeFacts* facts = nodes_->Facts(node);
  if (facts == nullptr) return false;
  // Parameters are checked when steps end.
  return facts->WasFinite(step) || (step > 0 && facts->WasFinite(step - 1));
}

bool Checker::IsPlainlyFine(const WatchSnapshot& watch, uint32_t node,
                            const graphdbg_tensor& tensor,
                            uint64_t step) const {
  const WatchSnapshot::Set* const set = watch.On(node);
  if (set == nullptr || !set->only_nonfinite || !IsSmallAndFinite(tensor)) {
    return false;
  }
  nodes_->Facts(node)->RecordFinite(true, step);
  return true;
}

void Checker::CheckBound(const WatchSnapshot& watch, uint32_t node,
                         const graphdbg_tensor& tensor,
                         const graphdbg_tensor* previous,
                         const ExecutionPoint& point, Findings* findings,
                         const conditions::ScanResult& known) const {
  const WatchSnapshot::Set* set = watch.On(node);
  if (set == nullptr) return;
  const TensorView view = ViewOf(tensor);
  TensorAccess access(devices_, tensor, point.in_progress);
  TensorView previous_view;
  if (previous != nullptr) {
    previous_view = ViewOf(*previous);
    access.SetPrevious(*previous);
  }
  conditions::TensorMeasurements measurements(
      &view, previous != nullptr ? &previous_view : nullptr, point.step);
  measurements.set_backend(access.backend());
  if (!access.ok() || !measurements.Measure(set->needs, known)) return;
  TestBound(*set, node, tensor, &measurements, point, findings);
}

void Checker::CheckBoundMeasured(const WatchSnapshot& watch, uint32_t node,
                                 const graphdbg_tensor& tensor,
                                 const Statistics& statistics,
                                 const ExecutionPoint& point,
                                 Findings* findings) const {
  const WatchSnapshot::Set* set = watch.On(node);
  if (set == nullptr) return;
  conditions::TensorMeasurements measurements(statistics, nullptr, point.step);
  TestBound(*set, node, tensor, &measurements, point, findings);
}

void Checker::TestBound(const WatchSnapshot::Set& set, uint32_t node,
                        const graphdbg_tensor& tensor,
                        conditions::TensorMeasurements* measurements,
                        const ExecutionPoint& point, Findings* findings) const {
  RecordStatistics(*findings, node, 0, measurements);
  nodes_->Facts(node)->RecordFinite(measurements->all_finite(), point.step);
  for (const Watchpoint* watchpoint : set.For(*measurements)) {
    const conditions::Predicate& predicate = watchpoint->predicate;
    if (predicate.uses_overflow_flag() || !Tests(*watchpoint, tensor)) continue;
    const Outcome outcome = predicate.Test(measurements);
    if (outcome == Outcome::kNoPrevious) {
      RecordMissingPrevious(*watchpoint, node, point.step, findings);
    }
    if (outcome == Outcome::kTooManyChannels) {
      RecordTooManyChannels(*watchpoint, node, findings);
    }
    if (outcome != Outcome::kMatched) continue;
    if (predicate.matches_infinities() &&
        measurements->statistics().nan_count == 0 &&
        IsIntentional(node, point.step)) {
      continue;
    }
    v1::Hit hit = MakeHit(*watchpoint, node, 0, tensor, measurements, point);
    const v1::PauseMode pause =
        PauseFor(*watchpoint, Continues(*watchpoint, hit));
    findings->hits.push_back(std::move(hit));
    findings->AddStop(watchpoint->id, pause);
  }
}

v1::HitOrigin Checker::OriginOf(const conditions::Predicate& predicate,
                                const Execution& execution, Inputs* inputs,
                                uint64_t step) const {
  // The flag concerns the op itself, whatever its inputs were.
  if (predicate.uses_overflow_flag()) return v1::HIT_ORIGIN_ORIGIN;
  bool all_known = true;
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (!inputs->Intact(i)) {
      // The input was overwritten, but its producer's result is known.
      all_known &=
          predicate.matches_non_finite() && WasFinite(inputs->node(i), step);
      continue;
    }
    conditions::TensorMeasurements* measurements =
        inputs->MeasurementsOf(i, step);
    if (measurements == nullptr) {
      // Its type has no numbers, or it was not measured but is known to be
      // finite.
      all_known &=
          (inputs->live() && Readable(execution.inputs[i].tensor)) ||
          (predicate.matches_non_finite() && WasFinite(inputs->node(i), step));
      continue;
    }
    const Outcome outcome = predicate.Test(measurements);
    all_known &= outcome != Outcome::kNoPrevious;
    if (outcome != Outcome::kMatched) continue;
    // Intentional infinities are not the cause of a NaN.
    if (predicate.matches_infinities() &&
        IsIntentionalInput(inputs->node(i), measurements->statistics(), step)) {
      continue;
    }
    return v1::HIT_ORIGIN_PROPAGATED;
  }
  const bool moved = execution.has(GRAPHDBG_MOVES_VALUES) && inputs->size() > 0;
  return all_known && !moved ? v1::HIT_ORIGIN_ORIGIN : v1::HIT_ORIGIN_UNKNOWN;
}

bool Checker::Continues(const Watchpoint& watchpoint, const v1::Hit& hit) {
  if (!watchpoint.predicate.matches_non_finite()) {
    return hit.origin() == v1::HIT_ORIGIN_PROPAGATED;
  }
  const uint64_t last = watchpoint.last_hit_step.exchange(hit.step() + 1);
  return last != 0 && hit.step() <= last &&
         hit.origin() != v1::HIT_ORIGIN_ORIGIN;
}

v1::PauseMode Checker::PauseFor(const Watchpoint& watchpoint, bool continues) {
  return continues && watchpoint.predicate.passes_over_propagated()
             ? v1::PAUSE_MODE_NONE
             : watchpoint.pause;
}

void Checker::AddInputs(const Execution& execution, uint64_t step,
                        Inputs* inputs, v1::Hit* hit) {
  for (size_t i = 0; i < std::min(inputs->size(), kMaxHitInputs); ++i) {
    if (!inputs->Intact(i)) continue;
    conditions::TensorMeasurements* const measurements =
        inputs->MeasurementsOf(i, step);
    if (measurements == nullptr) continue;
    v1::HitInput* const input = hit->add_inputs();
    input->set_position(static_cast<uint32_t>(i));
    *input->mutable_type() = TypeOf(execution.inputs[i].tensor);
    *input->mutable_statistics() = ToProto(measurements->statistics());
  }
}

v1::Hit Checker::MakeHit(const Watchpoint& watchpoint, uint32_t node,
                         uint32_t slot, const graphdbg_tensor& tensor,
                         conditions::TensorMeasurements* measurements,
                         const ExecutionPoint& point) const {
  v1::Hit hit = MakeHit(watchpoint, node, slot, point);
  conditions::Actual actual;
  watchpoint.predicate.Test(measurements, &actual);
  hit.mutable_actual()->insert(actual.begin(), actual.end());
  *hit.mutable_statistics() = ToProto(measurements->statistics());
  *hit.mutable_type() = TypeOf(tensor);
  return hit;
}

v1::Hit Checker::MakeHit(const Watchpoint& watchpoint, uint32_t node,
                         uint32_t slot, const ExecutionPoint& point) const {
  v1::Hit hit;
  hit.set_watchpoint(watchpoint.id);
  hit.set_revision(watchpoint.revision);
  hit.set_step(point.step);
  hit.set_node_id(node);
  hit.set_slot(slot);
  hit.set_order(point.order);
  *hit.mutable_source() = SourceOf(node, point);
  hit.set_time_unix_nano(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  return hit;
}

// In the first step that is checked, missing previous values are not an error.
void Checker::RecordMissingPrevious(const Watchpoint& watchpoint, uint32_t node,
                                    uint64_t step, Findings* findings) const {
  uint64_t first = watchpoint.first_missed_step.load();
  if (first == Watchpoint::kReported || step == 0) return;
  if (first == 0) {
    watchpoint.first_missed_step.compare_exchange_strong(first, step);
    return;
  }
  if (step < first + 2 || !watchpoint.first_missed_step.compare_exchange_strong(
                              first, Watchpoint::kReported)) {
    return;
  }
  RecordUnchecked(
      watchpoint,
      wire::MakeError(
          absl::StatusCode::kFailedPrecondition, "no_previous_value",
          absl::StrCat("cannot check the condition on \"",
                       nodes_->InfoOf(node).name,
                       "\" because its value in the previous step is not "
                       "kept")),
      findings);
}

// A program on an NPU may also have tensors in host memory, so those are
// ignored.
void Checker::RecordMissingFlag(const Watchpoint& watchpoint,
                                const graphdbg_tensor& tensor,
                                Findings* findings) const {
  const bool on_npu = tensor.device == GRAPHDBG_NPU;
  if (!on_npu && devices_ != nullptr && devices_->first_kind() == "npu") return;
  if (!IsFirstReport(watchpoint)) return;
  RecordUnchecked(
      watchpoint,
      wire::MakeError(absl::StatusCode::kUnimplemented, "unsupported_condition",
                      on_npu ? "this NPU does not report overflows"
                             : "only Ascend NPUs report overflows, and the "
                               "program has no tensors on one"),
      findings);
}

void Checker::RecordTooManyChannels(const Watchpoint& watchpoint, uint32_t node,
                                    Findings* findings) const {
  if (!IsFirstReport(watchpoint)) return;
  RecordUnchecked(
      watchpoint,
      wire::MakeError(
          absl::StatusCode::kResourceExhausted, "too_many_channels",
          absl::StrCat("cannot check the condition on \"",
                       nodes_->InfoOf(node).name,
                       "\" because it has more than ", conditions::kMaxChannels,
                       " channels along the axis")),
      findings);
}

v1::SourceFrame Checker::SourceOf(uint32_t node,
                                  const ExecutionPoint& point) const {
  v1::SourceFrame frame;
  if (point.in_progress && nodes_->executes(node)) {
    graphdbg_source_frame frames[kMaxCapturedFrames];
    const size_t count = std::min(
        host_->CaptureStack(frames, kMaxCapturedFrames), kMaxCapturedFrames);
    for (size_t i = 0; i < count; ++i) {
      if (!frames[i].user) continue;
      frame.set_file(ValidText(frames[i].file));
      frame.set_function(ValidText(frames[i].function));
      frame.set_line(frames[i].line);
      frame.set_user(true);
      return frame;
    }
  }
  return nodes_->UserFrameOf(node);
}

}  // namespace graphdbg::agent
