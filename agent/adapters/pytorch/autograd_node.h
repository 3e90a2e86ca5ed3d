#ifndef AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
#define AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_

#include <c10/core/TensorImpl.h>

#include <cstdint>

namespace graphdbg::pytorch {

// The autograd node that the engine evaluates on a thread.
struct AutogradNode {
  // Identifies the node during its evaluation; null if the thread is not in the
  // engine.
  const void* address = nullptr;
  // The thread that created the node, in PyTorch's numbering, and the node's
  // sequence number there.
  uint64_t thread = 0;
  uint64_t sequence = 0;
  // The leaf if the node accumulates a leaf's gradient, otherwise null. Valid
  // while the engine evaluates the node.
  const c10::TensorImpl* leaf = nullptr;
};

// The address of the node that this thread evaluates; null if it is not in the
// engine. Takes a few nanoseconds.
const void* EvaluatedNode();

// Updates `node` to what this thread evaluates now. Returns false if it did not
// change.
bool UpdateAutogradNode(AutogradNode* node);

// The sequence number of the next autograd node created on this thread.
uint64_t NextSequence();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_AUTOGRAD_NODE_H_
