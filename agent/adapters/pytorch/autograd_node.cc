#include "agent/adapters/pytorch/autograd_node.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace graphdbg::pytorch {

bool CurrentAutogradNode(AutogradNode* out) {
  const auto node = torch::autograd::get_current_node();
  if (!node) return false;
  *out = {};
  out->thread = node->thread_id();
  out->sequence = node->sequence_nr();
  const auto* accumulate =
      dynamic_cast<const torch::autograd::AccumulateGrad*>(&*node);
  if (accumulate != nullptr && accumulate->variable.defined()) {
    out->leaf = accumulate->variable.unsafeGetTensorImpl();
  }
  return true;
}

}  // namespace graphdbg::pytorch
