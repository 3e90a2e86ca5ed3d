#include "agent/adapters/pytorch/context.h"

namespace graphdbg::pytorch {

void ContextStack::Push(Context context) {
  contexts_.push_back(context);
  if (context.kind == ContextKind::kBackward) ++backward_depth_;
}

void ContextStack::PopTo(size_t depth) {
  while (contexts_.size() > depth) {
    if (contexts_.back().kind == ContextKind::kBackward) --backward_depth_;
    contexts_.pop_back();
  }
}

void ContextStack::Pop(ContextKind kind) {
  for (size_t i = contexts_.size(); i > 0; --i) {
    if (contexts_[i - 1].kind == kind) {
      PopTo(i - 1);
      return;
    }
  }
}

uint32_t ContextStack::ModuleScope() const {
  for (size_t i = contexts_.size(); i > 0; --i) {
    if (contexts_[i - 1].kind == ContextKind::kModule) {
      return contexts_[i - 1].scope;
    }
  }
  return 0;
}

Placement ContextStack::Place() const {
  if (contexts_.empty()) {
    Placement placement;
    placement.outside = true;
    return placement;
  }
  const Context& inner = contexts_.back();
  switch (inner.kind) {
    case ContextKind::kModule:
      // A module that runs inside the backward pass is being recomputed
      // (activation checkpointing).
      return {InBackward() ? Phase::kBackward : Phase::kForward, inner.scope,
              GRAPHDBG_ACTIVATION};
    case ContextKind::kBackward:
      return {Phase::kBackward, inner.scope, GRAPHDBG_GRADIENT,
              inner.forward_node};
    case ContextKind::kOptimizer:
      return {Phase::kOptimizer, inner.scope, GRAPHDBG_OPTIMIZER};
    case ContextKind::kIgnored:
      break;
  }
  Placement ignored;
  ignored.ignored = true;
  return ignored;
}

}  // namespace graphdbg::pytorch
