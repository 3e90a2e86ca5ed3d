#ifndef AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
#define AGENT_ADAPTERS_PYTORCH_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };

// What a thread is inside of, innermost last: modules and optimizers. kProgram
// is the program's own code again, which an optimizer calls (a closure).
enum class ContextKind : uint8_t { kModule, kOptimizer, kProgram, kIgnored };

struct Context {
  ContextKind kind;
  uint32_t scope = 0;
  // What the autograd engine evaluated on this thread when it was entered: a
  // module is then being recomputed. Null outside the engine.
  const void* evaluated = nullptr;
};

// Where an op belongs that runs in the present context.
struct Placement {
  Phase phase = Phase::kForward;
  uint32_t scope = 0;
  graphdbg_category category = GRAPHDBG_OTHER;
  uint32_t forward_node = 0;
  // Outside modules, backward pass and optimizers.
  bool outside = false;
  // A part of the forward pass that runs again within the backward pass.
  bool recomputed = false;
  // No part of the computation: loading of data.
  bool ignored = false;
};

// One thread's contexts.
class ContextStack {
 public:
  size_t depth() const { return contexts_.size(); }
  // Whether the program's own code runs, outside modules and optimizers.
  bool Outside() const {
    return contexts_.empty() || contexts_.back().kind == ContextKind::kProgram;
  }
  void Push(Context context) { contexts_.push_back(context); }
  // Back to an earlier depth; also when contexts inside were left by an
  // exception.
  void PopTo(size_t depth);
  // Leaves the innermost context of a kind, and what is inside it.
  void Pop(ContextKind kind);

  // Whether the engine has gone on to evaluate `node` (null: nothing) since
  // the innermost context was entered: what runs now belongs to that node.
  bool IsEvaluating(const void* node) const {
    return node != nullptr &&
           (contexts_.empty() || contexts_.back().evaluated != node);
  }
  // 0 if there is none.
  uint32_t ModuleScope() const;
  Placement Place() const;

 private:
  std::vector<Context> contexts_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
