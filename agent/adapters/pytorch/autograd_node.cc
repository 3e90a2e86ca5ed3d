#include "agent/adapters/pytorch/autograd_node.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <typeinfo>

#include "agent/adapters/pytorch/torch_compat.h"

#if !GRAPHDBG_TORCH_HAS_CURRENT_NODE
#include <torch/csrc/autograd/anomaly_mode.h>

#include <memory>
#include <utility>
#endif

namespace graphdbg::pytorch {
namespace {

#if GRAPHDBG_TORCH_HAS_CURRENT_NODE

auto CurrentNode() { return torch::autograd::get_current_node(); }

#else

using torch::autograd::Node;

// Stores the parent assigned to it.
struct Captured : torch::autograd::AnomalyMetadata {
  void assign_parent(const std::shared_ptr<Node>& parent) override {
    node = parent;
  }
  std::shared_ptr<Node> node;
};

// Older versions expose the node that the engine evaluates only to the metadata
// of nodes created meanwhile (Node::assign_parent). This is such a node, which
// does not belong to any graph.
class Probe : public Node {
 public:
  // Has an explicit number, so that it does not consume one of autograd's.
  Probe() : Node(/*sequence_nr=*/UINT64_MAX) {
    anomaly_metadata_ = std::make_unique<Captured>();
  }
  std::shared_ptr<Node> Current() {
    assign_parent();
    return std::move(static_cast<Captured&>(*anomaly_metadata_).node);
  }

 private:
  torch::autograd::variable_list apply(
      torch::autograd::variable_list&&) override {
    return {};
  }
};

std::shared_ptr<Node> CurrentNode() {
  // Never destroyed: a thread may end after the libraries are unloaded.
  thread_local Probe* const probe = new Probe;
  return probe->Current();
}

#endif

// The leaf whose gradient the node accumulates; null if it does not.
const c10::TensorImpl* LeafOf(const torch::autograd::Node& node) {
  using torch::autograd::AccumulateGrad;
  // The class has no subclasses, so this is a dynamic_cast that takes less
  // time.
  if (typeid(node) != typeid(AccumulateGrad)) return nullptr;
  const auto& accumulate = static_cast<const AccumulateGrad&>(node);
  return accumulate.variable.defined()
             ? accumulate.variable.unsafeGetTensorImpl()
             : nullptr;
}

}  // namespace

const void* EvaluatedNode() { return CurrentNode().get(); }

bool UpdateAutogradNode(AutogradNode* node) {
  const auto now = CurrentNode();
  if (now == nullptr) {
    const bool left = node->address != nullptr;
    *node = {};
    return left;
  }
  // Nodes that accumulate do not have a number of their own.
  if (node->address == now.get() && node->sequence == now->sequence_nr() &&
      node->leaf == nullptr) {
    return false;
  }
  *node = {now.get(), now->thread_id(), now->sequence_nr()};
  node->leaf = LeafOf(*now);
  return true;
}

uint64_t NextSequence() { return at::sequence_number::peek(); }

}  // namespace graphdbg::pytorch
