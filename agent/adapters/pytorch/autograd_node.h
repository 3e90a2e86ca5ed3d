#ifndef AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
#define AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_

#include <c10/core/TensorImpl.h>

#include <cstdint>

namespace graphdbg::pytorch {

// What the autograd engine evaluates on a thread.
struct AutogradNode {
  // The thread, in PyTorch's numbering, and number that it was made with.
  uint64_t thread = 0;
  uint64_t sequence = 0;
  // For the node that accumulates a leaf's gradient, the leaf; else null.
  // Valid while the engine evaluates the node.
  const c10::TensorImpl* leaf = nullptr;
};

// False if this thread is not in the engine.
bool CurrentAutogradNode(AutogradNode* out);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
