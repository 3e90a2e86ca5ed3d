// Which infinities are no hit: those that are meant, and those of scaled
// gradients.
#include "absl/strings/str_cat.h"
#include "agent/core/checker.h"
#include "agent/core/checker_inputs.h"

namespace graphdbg::agent {
namespace {

// Zeros and -inf, as a mask that is added to attention scores; or a lone
// infinity, as the best loss so far before there is one.
bool LooksIntentional(const Statistics& s) {
  if (s.nan_count > 0) return false;
  if (s.count == 1) return s.inf_count() == 1;
  return s.neg_inf_count > 0 && s.pos_inf_count == 0 &&
         s.zero_count == s.finite_count();
}

}  // namespace

bool Checker::IsIntentional(uint32_t node, uint64_t step) const {
  const NodeFacts* facts = nodes_->Facts(node);
  if (facts == nullptr) return false;
  const uint64_t intentional = facts->intentional_infinities_in_step.load();
  return intentional == NodeFacts::kAlways ||
         (intentional == step && step != 0);
}

bool Checker::IsIntentionalInput(uint32_t node, const Statistics& statistics,
                                 uint64_t step) const {
  if (statistics.nan_count > 0) return false;
  // What was made before the first step has no producer.
  return node == 0 ? LooksIntentional(statistics) : IsIntentional(node, step);
}

bool Checker::InfinitiesAreIntentional(const Execution& execution,
                                       Inputs* inputs,
                                       conditions::TensorMeasurements* output,
                                       uint64_t step) const {
  if (execution.has(GRAPHDBG_EXPLICIT_NONFINITE)) return true;
  if (execution.has(GRAPHDBG_GIVEN) && inputs->size() == 0) {
    return LooksIntentional(output->statistics());
  }
  bool found = false;
  for (size_t i = 0; i < inputs->size(); ++i) {
    // One that was overwritten shows the output's own infinities.
    if (!inputs->Intact(i)) continue;
    conditions::TensorMeasurements* measurements = inputs->Of(i, step);
    if (measurements == nullptr || measurements->all_finite()) continue;
    const Statistics& statistics = measurements->statistics();
    if (statistics.inf_count() == 0) continue;
    if (!IsIntentionalInput(inputs->node(i), statistics, step)) return false;
    found = true;
  }
  return found;
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
  // An optimizer that is not left out carries it on into the weights.
  const bool only_itself = nodes_->IsOptimizerNode(execution.node);
  bool came_in = false;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const bool itself = SharesMemory(execution.inputs[i].tensor, output);
    if (only_itself && !itself) continue;
    if (Overflowed(inputs->node(i), step)) {
      came_in = true;
      continue;
    }
    if (!inputs->Intact(i)) continue;
    conditions::TensorMeasurements* input = inputs->Of(i, step);
    if (input != nullptr && !input->all_finite() &&
        !IsIntentionalInput(inputs->node(i), input->statistics(), step)) {
      return false;
    }
  }
  if (came_in) return true;
  return scaled && !only_itself && output.dtype == GRAPHDBG_FLOAT16 &&
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
      "; the scaler leaves such steps out, so that is no hit, nor is what "
      "comes "
      "of it");
}

}  // namespace graphdbg::agent
