#ifndef AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
#define AGENT_ADAPTERS_PYTORCH_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };

// Kinds of code that a thread executes. kProgram is a closure: the program's
// own code, called by an optimizer.
enum class ContextKind : uint8_t { kModule, kOptimizer, kProgram, kIgnored };

struct Context {
  ContextKind kind;
  uint32_t scope = 0;
  // The node that the autograd engine evaluated on this thread on entry; a
  // module is then being recomputed. Null outside the engine.
  const void* evaluated = nullptr;
};

// The position in the graph of an op that runs in the current context.
struct Placement {
  Phase phase = Phase::kForward;
  uint32_t scope = 0;
  graphdbg_category category = GRAPHDBG_OTHER;
  uint32_t forward_node = 0;
  // Outside modules, the backward pass and optimizers.
  bool outside = false;
  // Part of the forward pass, repeated within the backward pass.
  bool recomputed = false;
  // Not part of the computation, such as loading of data.
  bool ignored = false;
};

// The contexts of one thread, innermost last.
class ContextStack {
 public:
  size_t depth() const { return contexts_.size(); }
  // Whether the thread runs the program's own code, outside modules and
  // optimizers.
  bool Outside() const {
    return contexts_.empty() || contexts_.back().kind == ContextKind::kProgram;
  }
  void Push(Context context) { contexts_.push_back(context); }
  // Returns to an earlier depth, also if an exception left the inner contexts.
  void PopTo(size_t depth);
  // Leaves the innermost context of a kind and all contexts inside it.
  void Pop(ContextKind kind);

  // Whether the engine has started to evaluate `node` since the innermost
  // context was entered, so that ops belong to that node. False if null.
  bool IsEvaluating(const void* node) const {
    return node != nullptr &&
           (contexts_.empty() || contexts_.back().evaluated != node);
  }
  // The innermost module's scope; 0 if there is none.
  uint32_t ModuleScope() const;
  Placement Place() const;

 private:
  std::vector<Context> contexts_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CONTEXT_H_
