#include "agent/adapters/pytorch/context.h"

namespace graphdbg::pytorch {

void ContextStack::PopTo(size_t depth) {
  if (contexts_.size() > depth) contexts_.resize(depth, Context{});
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
    const Context& context = contexts_[i - 1];
    if (context.kind == ContextKind::kModule) return context.scope;
    if (context.kind == ContextKind::kProgram) break;
  }
  return 0;
}

Placement ContextStack::Place() const {
  if (Outside()) {
    Placement placement;
    placement.outside = true;
    return placement;
  }
  const Context& inner = contexts_.back();
  switch (inner.kind) {
    case ContextKind::kModule: {
      Placement placement;
      placement.scope = inner.scope;
      placement.category = GRAPHDBG_ACTIVATION;
      // A module that runs within the backward pass is being recomputed
      // (activation checkpointing).
      placement.recomputed = inner.evaluated != nullptr;
      if (placement.recomputed) placement.phase = Phase::kBackward;
      return placement;
    }
    case ContextKind::kOptimizer:
      return {Phase::kOptimizer, inner.scope, GRAPHDBG_OPTIMIZER};
    case ContextKind::kProgram:
    case ContextKind::kIgnored:
      break;
  }
  Placement ignored;
  ignored.ignored = true;
  return ignored;
}

}  // namespace graphdbg::pytorch
