#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_recorder.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// This key is above autograd and autocast, so that ops are those that the
// program called. PyTorch reserves it for an external project that was
// discontinued.
constexpr DispatchKey kKey = DispatchKey::DeferredInit;

// Modes and subclasses of tensors that are written in Python.
constexpr DispatchKeySet kPython({DispatchKey::Python,
                                  DispatchKey::PythonTLSSnapshot});

OpTracer* dispatch_tracer = nullptr;
std::atomic<bool> tracing{false};

bool IsLeaf(const OpInfo& op, DispatchKeySet keys) {
  return !HasWrapperKeys(keys) && op.IsLeaf(keys) && !at::in_parallel_region();
}

// Ops called by the kernel of an op are not traced.
void RunLeaf(const c10::OperatorHandle& op, const OpInfo& info,
             DispatchKeySet after, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard inside(kKey);
  const RecordNoOps kernel;
  ThreadState* thread = nullptr;
  dispatch_tracer->Guarded([&] {
    thread = dispatch_tracer->Begin(
        info, torch::jit::last(*stack, info.argument_count));
  });
  if (thread == nullptr) {
    op.redispatchBoxed(after, stack);
    return;
  }
  const size_t depth = stack->size();
  const auto fail = [&](const char* message) {
    // Kernels drop their arguments when they have succeeded.
    c10::ArrayRef<c10::IValue> arguments;
    if (stack->size() == depth) {
      arguments = torch::jit::last(*stack, info.argument_count);
    }
    dispatch_tracer->Guarded(
        [&] { dispatch_tracer->Fail(thread, arguments, message); });
  };
  try {
    op.redispatchBoxed(after, stack);
  } catch (const c10::Error& error) {
    fail(error.what_without_backtrace());
    throw;
  } catch (const std::exception& error) {
    fail(error.what());
    throw;
  } catch (...) {
    fail("");
    throw;
  }
  dispatch_tracer->Guarded([&] {
    dispatch_tracer->End(thread, torch::jit::last(*stack, info.return_count));
  });
}

void Fallback(const c10::OperatorHandle& op, DispatchKeySet keys,
              torch::jit::Stack* stack) {
  const DispatchKeySet after =
      keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey);
  if (!tracing.load(std::memory_order_relaxed) || dispatch_tracer->disabled()) {
    c10::impl::tls_set_dispatch_key_included(kKey, false);
    op.redispatchBoxed(after, stack);
    return;
  }
  const OpInfo& info = *FindOp(op);
  if (IsLeaf(info, keys)) {
    RunLeaf(op, info, after, stack);
  } else if (keys.has_any(kPython)) {
    // PyTorch excludes all keys above Python's while Python handles the op.
    const RecordOpsThatBypass python(kKey, dispatch_tracer);
    op.redispatchBoxed(after, stack);
  } else {
    op.redispatchBoxed(after, stack);
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
                                               kKey, __FILE__, __LINE__);
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
    if (on == c10::impl::tls_is_dispatch_key_included(kKey)) return;
    c10::impl::tls_set_dispatch_key_included(kKey, on);
    if (on) OpTracer::Resume();
  }
};

}  // namespace

CaptureEngine* MakeDispatchEngine(OpTracer* tracer) {
  dispatch_tracer = tracer;
  // Never destroyed: threads may run ops during process exit.
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  RegisterFallthroughs();
  return new DispatchEngine;
}

}  // namespace graphdbg::pytorch
