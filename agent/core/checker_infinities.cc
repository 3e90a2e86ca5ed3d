// Infinities that do not count as hits: intentional ones, and overflows of
// scaled gradients.
#include "absl/strings/str_cat.h"
#include "agent/core/checker.h"
#include "agent/core/checker_inputs.h"

namespace graphdbg::agent {
namespace {

// Whether the values are zeros and -inf, like a mask that is added to attention
// scores, or a lone infinity, like an initial value for the best loss.
bool LooksIntentional(const Statistics& s) {
  if (s.nan_count > 0) return false;
  if (s.count == 1) return s.inf_count() == 1;
  return s.neg_inf_count > 0 && s.pos_inf_count == 0 &&
         s.zero_count == s.finite_count();
}

}  // namespace

bool Checker::IsIntentional(uint32_t node, uint64_t step) const {
  const NodeFacts* facts = nodes_->Facts(node);
  return facts != nullptr && facts->InfinitiesAreIntentional(step);
}

bool Checker::IsIntentionalInput(uint32_t node, const Statistics& statistics,
                                 uint64_t step) const {
  if (statistics.nan_count > 0) return false;
  // Tensors made before the first step have no producer.
  return node == 0 ? LooksIntentional(statistics) : IsIntentional(node, step);
}

bool Checker::InfinitiesAreIntentional(const Execution& execution,
                                       Inputs* inputs,
                                       conditions::TensorMeasurements* output,
                                       uint64_t step) const {
  if (execution.has(GRAPHDBG_EXPLICIT_NONFINITE) ||
      nodes_->Facts(execution.node)->intentional) {
    return true;
  }
  if (execution.has(GRAPHDBG_GIVEN) && inputs->size() == 0) {
    return LooksIntentional(output->statistics());
  }
  bool found = false;
  bool overwrote_intentional = false;
  double share_of_inputs = 0;
  for (size_t i = 0; i < inputs->size(); ++i) {
    // An input that was overwritten contains the output's own infinities.
    if (!inputs->Intact(i)) {
      overwrote_intentional |= IsIntentional(inputs->node(i), step);
      continue;
    }
    conditions::TensorMeasurements* measurements =
        inputs->MeasurementsOf(i, step);
    if (measurements == nullptr || measurements->all_finite()) continue;
    const Statistics& statistics = measurements->statistics();
    if (statistics.inf_count() == 0) continue;
    if (!IsIntentionalInput(inputs->node(i), statistics, step)) return false;
    found = true;
    share_of_inputs += statistics.inf_share();
  }
  // Ops that compute with intentional infinities, like a linear layer with
  // those in its data, spread them; and an op may add its own.
  return found &&
         (execution.has(GRAPHDBG_MOVES_VALUES) || overwrote_intentional ||
          output->statistics().inf_share() <= share_of_inputs);
}

bool Checker::Overflowed(uint32_t node, uint64_t step) const {
  const NodeFacts* facts = nodes_->Facts(node);
  return facts != nullptr && facts->overflowed_in_step.load() == step;
}

bool Checker::IsGradScalerOverflow(const Execution& execution,
                                   const graphdbg_tensor& output,
                                   conditions::TensorMeasurements* measurements,
                                   Inputs* inputs, uint64_t step) const {
  const bool scaled = execution.grad_scale > 1;
  if (!scaled && overflow_step_.load() != step) return false;
  if (measurements->all_finite()) return false;
  // An optimizer step that is not skipped carries the overflow into the
  // weights.
  const bool is_optimizer = nodes_->IsOptimizerNode(execution.node);
  bool propagated = false;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const bool itself = SharesMemory(execution.inputs[i].tensor, output);
    if (is_optimizer && !itself) continue;
    if (Overflowed(inputs->node(i), step)) {
      propagated = true;
      continue;
    }
    if (!inputs->Intact(i)) continue;
    conditions::TensorMeasurements* input = inputs->MeasurementsOf(i, step);
    if (input != nullptr && !input->all_finite() &&
        !IsIntentionalInput(inputs->node(i), input->statistics(), step)) {
      return false;
    }
  }
  if (propagated) return true;
  return scaled && !is_optimizer && output.dtype == GRAPHDBG_FLOAT16 &&
         measurements->statistics().nan_count == 0;
}

void Checker::RecordGradScalerOverflow(const Execution& execution,
                                       uint64_t step,
                                       Findings* findings) const {
  overflow_step_.store(step);
  nodes_->Facts(execution.node)->overflowed_in_step.store(step);
  if (reported_overflow_.exchange(true)) return;
  findings->notice = absl::StrCat(
      nodes_->InfoOf(execution.node).name,
      " overflowed in float16 under a loss scale of ", execution.grad_scale,
      "; GradScaler skips such steps, so neither this overflow nor values "
      "derived from it count as hits");
}

}  // namespace graphdbg::agent
