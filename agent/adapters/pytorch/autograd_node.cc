#include "agent/adapters/pytorch/autograd_node.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace graphdbg::pytorch {

const void* EvaluatedNode() {
  return torch::autograd::get_current_node().get();
}

bool UpdateAutogradNode(AutogradNode* node) {
  const auto now = torch::autograd::get_current_node();
  if (now == nullptr) {
    *node = {};
    return true;
  }
  // Nodes that accumulate have no number of their own.
  if (node->address == now.get() && node->sequence == now->sequence_nr() &&
      node->leaf == nullptr) {
    return false;
  }
  *node = {now.get(), now->thread_id(), now->sequence_nr()};
  const auto* accumulate =
      dynamic_cast<const torch::autograd::AccumulateGrad*>(now.get());
  if (accumulate != nullptr && accumulate->variable.defined()) {
    node->leaf = accumulate->variable.unsafeGetTensorImpl();
  }
  return true;
}

uint64_t NextSequence() { return at::sequence_number::peek(); }

}  // namespace graphdbg::pytorch
