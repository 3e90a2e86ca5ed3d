#ifndef AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
#define AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_

#include <c10/core/TensorImpl.h>

#include <cstdint>

namespace graphdbg::pytorch {

// What the autograd engine evaluates on a thread.
struct AutogradNode {
  // Tells nodes apart while they are evaluated; null: the thread is not in the
  // engine.
  const void* address = nullptr;
  // The thread, in PyTorch's numbering, and number that it was made with.
  uint64_t thread = 0;
  uint64_t sequence = 0;
  // For the node that accumulates a leaf's gradient, the leaf; else null.
  // Valid while the engine evaluates the node.
  const c10::TensorImpl* leaf = nullptr;
};

// What this thread evaluates; null if it is not in the engine. The address
// alone: costs a few nanoseconds.
const void* EvaluatedNode();

// Brings `node`, which this thread was told last, up to date. False if it is.
bool UpdateAutogradNode(AutogradNode* node);

// The number that the next autograd node made on this thread will get.
uint64_t NextSequence();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
