#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// Above autograd and autocast, so that an op is what the program wrote. Kept
// by PyTorch for a project outside of it that has ended.
constexpr DispatchKey kKey = DispatchKey::DeferredInit;

OpFollower* dispatch_follower = nullptr;
std::atomic<bool> following{false};

bool IsLeaf(const OpInfo& op, DispatchKeySet keys) {
  return !AreOfWrapper(keys) && op.leaf && !at::in_parallel_region();
}

// What runs inside an op with kernels of its own is that kernel's business.
void RunLeaf(const c10::OperatorHandle& op, const OpInfo& info,
             DispatchKeySet after, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard inside(kKey);
  ThreadState* thread = nullptr;
  dispatch_follower->Guarded([&] {
    thread = dispatch_follower->Begin(
        info, torch::jit::last(*stack, info.argument_count));
  });
  if (thread == nullptr) {
    op.redispatchBoxed(after, stack);
    return;
  }
  try {
    op.redispatchBoxed(after, stack);
  } catch (...) {
    dispatch_follower->Guarded(
        [thread] { dispatch_follower->Abandon(thread); });
    throw;
  }
  dispatch_follower->Guarded([&] {
    dispatch_follower->End(thread, torch::jit::last(*stack, info.return_count));
  });
}

void Fallback(const c10::OperatorHandle& op, DispatchKeySet keys,
              torch::jit::Stack* stack) {
  const DispatchKeySet after =
      keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey);
  if (!following.load(std::memory_order_relaxed) || dispatch_follower->dead()) {
    c10::impl::tls_set_dispatch_key_included(kKey, false);
    op.redispatchBoxed(after, stack);
    return;
  }
  const OpInfo& info = *FindOp(op);
  if (IsLeaf(info, keys)) {
    RunLeaf(op, info, after, stack);
  } else {
    op.redispatchBoxed(after, stack);
  }
}

// Ops that are spelled out in others, or make no tensors, need not come by.
void LetThrough(const c10::OperatorName& name) {
  static auto* const libraries =
      new std::unordered_map<std::string, std::unique_ptr<torch::Library>>;
  const std::string space(name.getNamespace().value_or(""));
  if (space.empty()) return;
  std::unique_ptr<torch::Library>& library = (*libraries)[space];
  if (library == nullptr) {
    library = std::make_unique<torch::Library>(torch::Library::IMPL, space,
                                               kKey, __FILE__, __LINE__);
  }
  library->impl(c10::toString(name).c_str(),
                torch::CppFunction::makeFallthrough());
}

void LetOthersThrough() {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    const OpInfo* const info = FindOp(*op);
    if (!info->leaf || !info->node) LetThrough(name);
  }
}

class DispatchEngine : public CaptureEngine {
 public:
  void FollowOps(bool on) override {
    following.store(on, std::memory_order_relaxed);
    // Other threads notice at their next op, or when they enter something.
    if (!dispatch_follower->dead()) SyncThread();
  }

  void SyncThread() override {
    const bool on = following.load(std::memory_order_relaxed);
    if (on == c10::impl::tls_is_dispatch_key_included(kKey)) return;
    c10::impl::tls_set_dispatch_key_included(kKey, on);
    if (on) OpFollower::Resume();
  }
};

}  // namespace

CaptureEngine* MakeDispatchEngine(OpFollower* the_follower) {
  dispatch_follower = the_follower;
  // Never destroyed: threads may run ops while the process exits.
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  LetOthersThrough();
  return new DispatchEngine;
}

}  // namespace graphdbg::pytorch
