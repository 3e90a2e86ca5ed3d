#ifndef AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
#define AGENT_ADAPTERS_PYTORCH_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };

// What a thread is inside of, innermost last: modules, nodes of the autograd
// engine, optimizers.
enum class ContextKind : uint8_t { kModule, kBackward, kOptimizer, kIgnored };

struct Context {
  ContextKind kind;
  // For kBackward: the module scope of the forward op.
  uint32_t scope = 0;
  // For kBackward: the forward op's node, or the parameter's.
  uint32_t forward_node = 0;
};

// Where an op belongs that runs in the present context.
struct Placement {
  Phase phase = Phase::kForward;
  uint32_t scope = 0;
  graphdbg_category category = GRAPHDBG_OTHER;
  uint32_t forward_node = 0;
  // Outside modules, backward pass and optimizers.
  bool outside = false;
  // No part of the computation: loading of data.
  bool ignored = false;
};

// One thread's contexts.
class ContextStack {
 public:
  size_t depth() const { return contexts_.size(); }
  bool empty() const { return contexts_.empty(); }
  void Push(Context context);
  // Back to an earlier depth; also when contexts inside were left by an
  // exception.
  void PopTo(size_t depth);
  // Leaves the innermost context of a kind, and what is inside it.
  void Pop(ContextKind kind);

  bool InBackward() const { return backward_depth_ > 0; }
  // 0 if there is none.
  uint32_t ModuleScope() const;
  Placement Place() const;

 private:
  std::vector<Context> contexts_;
  size_t backward_depth_ = 0;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
