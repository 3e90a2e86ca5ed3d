#include "agent/adapters/pytorch/dispatch_engine.h"

#include <ATen/Parallel.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// Modes and subclasses of tensors that are written in Python.
constexpr DispatchKeySet kPython({DispatchKey::Python,
                                  DispatchKey::PythonTLSSnapshot});

OpTracer* dispatch_tracer = nullptr;
std::atomic<bool> tracing{false};

void RunLeaf(const c10::OperatorHandle& op, const OpInfo& info,
             DispatchKeySet after, torch::jit::Stack* stack) {
  FollowedOp followed(info, torch::jit::last(*stack, info.argument_count));
  const size_t depth = stack->size();
  followed.Call([&] { op.redispatchBoxed(after, stack); },
                [&] {
                  // Kernels drop their arguments when they have succeeded.
                  c10::ArrayRef<c10::IValue> arguments;
                  if (stack->size() == depth) {
                    arguments = torch::jit::last(*stack, info.argument_count);
                  }
                  return arguments;
                });
  followed.End(torch::jit::last(*stack, info.return_count));
}

void Fallback(const c10::OperatorHandle& op, DispatchKeySet keys,
              torch::jit::Stack* stack) {
  const DispatchKeySet after = KeysAfterEngine(keys);
  if (!FollowsThread()) {
    op.redispatchBoxed(after, stack);
    return;
  }
  const OpInfo& info = *FindOp(op);
  switch (WayOf(info, keys)) {
    case DispatchedCall::kFollowed:
      RunLeaf(op, info, after, stack);
      break;
    case DispatchedCall::kByPython: {
      const RecordOpsThatBypass python(kEngineKey, dispatch_tracer);
      op.redispatchBoxed(after, stack);
      break;
    }
    case DispatchedCall::kUnfollowed:
      op.redispatchBoxed(after, stack);
      break;
  }
}

// Composite ops and ops without tensor results bypass the fallback.
void RegisterFallthrough(const c10::OperatorName& name) {
  static auto* const libraries =
      new std::unordered_map<std::string, std::unique_ptr<torch::Library>>;
  const std::string space(name.getNamespace().value_or(""));
  if (space.empty()) return;
  std::unique_ptr<torch::Library>& library = (*libraries)[space];
  if (library == nullptr) {
    library = std::make_unique<torch::Library>(torch::Library::IMPL, space,
                                               kEngineKey, __FILE__, __LINE__);
  }
  library->impl(c10::toString(name).c_str(),
                torch::CppFunction::makeFallthrough());
}

void RegisterFallthroughs() {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    const OpInfo* const info = FindOp(*op);
    const bool composite = info->composite && info->backends_with_kernels == 0;
    if (composite || !info->node) RegisterFallthrough(name);
  }
}

class DispatchEngine : public CaptureEngine {
 public:
  void TraceOps(bool on) override {
    tracing.store(on, std::memory_order_relaxed);
    // Other threads notice at their next op or call of SyncThread().
    if (!dispatch_tracer->disabled()) SyncThread();
  }

  void SyncThread() override {
    const bool on = tracing.load(std::memory_order_relaxed);
    if (on == c10::impl::tls_is_dispatch_key_included(kEngineKey)) return;
    c10::impl::tls_set_dispatch_key_included(kEngineKey, on);
    if (on) OpTracer::Resume();
  }
};

}  // namespace

OpTracer* DispatchTracer() { return dispatch_tracer; }

bool FollowsThread() {
  if (tracing.load(std::memory_order_relaxed) && !dispatch_tracer->disabled()) {
    return true;
  }
  c10::impl::tls_set_dispatch_key_included(kEngineKey, false);
  return false;
}

DispatchedCall WayOf(const OpInfo& op, DispatchKeySet keys) {
  if (!HasWrapperKeys(keys) && op.IsLeaf(keys) && !at::in_parallel_region()) {
    return DispatchedCall::kFollowed;
  }
  // PyTorch excludes all keys above Python's while Python handles the op.
  return keys.has_any(kPython) ? DispatchedCall::kByPython
                               : DispatchedCall::kUnfollowed;
}

CaptureEngine* MakeDispatchEngine(OpTracer* tracer) {
  dispatch_tracer = tracer;
  // Never destroyed: threads may run ops during process exit.
  static auto* const library = new torch::Library(
      torch::Library::IMPL, "_", kEngineKey, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  RegisterFallthroughs();
  RegisterUnboxedOps();
  return new DispatchEngine;
}

}  // namespace graphdbg::pytorch
