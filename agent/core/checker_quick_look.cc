// Rules conditions out by a quick look at the values, which is all that most
// executions need.
#include <memory>

#include "agent/core/checker.h"
#include "agent/kernels/cpu/sketch.h"

namespace graphdbg::agent {
namespace {

// Larger tensors are not looked at for NaN and infinities alone: what is found
// out about them is kept for views of them (SeenValues).
constexpr int64_t kSmallBytes = 64 << 10;

bool IsSmallAndFinite(const graphdbg_tensor& tensor) {
  return Readable(tensor) &&
         cpu::IsSmallAndFinite(ViewOf(tensor), kSmallBytes - 1);
}

}  // namespace

bool Checker::IsPlainlyFine(const WatchSnapshot& watch,
                            const Execution& execution,
                            const PreviousValues& previous, SeenValues* seen,
                            const ExecutionPoint& point) const {
  const WatchSnapshot::Set* const set = watch.On(execution.node);
  if (set == nullptr) {
    Begin(watch, execution, point);
    return true;
  }
  if (set->tests_execution) return false;
  NodeFacts* const facts = nodes_->Facts(execution.node);
  if (set->only_nonfinite) {
    for (size_t slot = 0; slot < execution.outputs.size(); ++slot) {
      if (!IsSmallAndFinite(execution.outputs[slot])) return false;
    }
    if (!Begin(watch, execution, point)) return true;
  } else {
    // Sketches cannot be scaled. A look takes as long again where it does not
    // suffice, so it is only taken where the values were finite the last time.
    if (!set->needs.statistics || execution.grad_scale != 1 ||
        facts->finite_in_step.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    if (!Begin(watch, execution, point)) return true;
    for (uint32_t slot = 0; slot < execution.outputs.size(); ++slot) {
      if (!RulesOut(*set, execution, slot, previous, seen, point.step)) {
        return false;
      }
    }
  }
  facts->RecordFinite(true, point.step);
  return true;
}

bool Checker::RulesOut(const WatchSnapshot::Set& set,
                       const Execution& execution, uint32_t slot,
                       const PreviousValues& previous, SeenValues* seen,
                       uint64_t step) const {
  const graphdbg_tensor& tensor = execution.outputs[slot];
  if (!Readable(tensor)) return false;
  const bool is_remembered =
      seen != nullptr && SeenValues::IsWorthwhile(tensor);
  // Its memory has been looked at already.
  if (is_remembered && IsView(execution, tensor)) return false;
  const TensorView view = ViewOf(tensor);
  const conditions::ScanResult scan = {true, cpu::ComputeSketch(view)};
  if (!scan.sketch) return false;
  std::shared_ptr<const PreviousValue> before;
  TensorView before_view;
  if (set.needs.previous) before = previous.Before(step, execution.node, slot);
  if (before != nullptr) before_view = before->view();
  conditions::TensorMeasurements measurements(
      &view, before != nullptr ? &before_view : nullptr, step);
  if (!measurements.Measure(set.needs, scan) ||
      !set.screen.RulesOut(measurements)) {
    return false;
  }
  for (const Watchpoint* watchpoint : set.unscreened) {
    if (watchpoint->Tests(tensor) &&
        watchpoint->predicate.Test(&measurements) !=
            conditions::Outcome::kNotMatched) {
      return false;
    }
  }
  if (is_remembered) seen->Put(tensor, scan);
  return true;
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

}  // namespace graphdbg::agent
