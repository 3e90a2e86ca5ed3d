#include <torch/library.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/dispatch_call.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"
#include "agent/adapters/pytorch/range_ops.h"
#include "agent/adapters/pytorch/typed_kernels.h"

namespace graphdbg::pytorch {
namespace {

void RunLeaf(const c10::OperatorHandle& op, const OpInfo& info,
             c10::DispatchKeySet below, torch::jit::Stack* stack) {
  const size_t depth = stack->size();
  const auto last = [stack](size_t count) {
    return BoxedOpValues(torch::jit::last(*stack, count));
  };
  LeafCall call(info, last(info.argument_count), ArgumentLifetime::kKernel);
  call.Run([&] { op.redispatchBoxed(below, stack); },
           [&] {
             // Kernels drop their arguments when they have succeeded.
             return last(stack->size() == depth ? info.argument_count : 0);
           });
  if (call.traced()) call.End(last(info.return_count));
}

void Fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
              torch::jit::Stack* stack) {
  const OpInfo& info = *FindOp(op);
  const c10::DispatchKeySet below = KeysBelowDebugger(keys);
  switch (RouteOf(info, keys)) {
    case Route::kLeaf:
      return RunLeaf(op, info, below, stack);
    case Route::kPython: {
      const RecordOpsThatBypass python(kDebuggerKey, dispatch_tracing.tracer);
      return op.redispatchBoxed(below, stack);
    }
    case Route::kPassed:
      return op.redispatchBoxed(below, stack);
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
    library = std::make_unique<torch::Library>(
        torch::Library::IMPL, space, kDebuggerKey, __FILE__, __LINE__);
  }
  library->impl(c10::toString(name).c_str(),
                torch::CppFunction::makeFallthrough());
}

void RegisterFallthroughs() {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    if (FindOp(*op)->IsNeverNode() && !IsRangeOp(name)) {
      RegisterFallthrough(name);
    }
  }
}

class DispatchEngine : public CaptureEngine {
 public:
  void TraceOps(bool on) override {
    dispatch_tracing.on.store(on, std::memory_order_relaxed);
    // Other threads notice at their next op or call of SyncThread().
    if (!dispatch_tracing.tracer->disabled()) SyncThread();
  }

  void SyncThread() override {
    const bool on = dispatch_tracing.on.load(std::memory_order_relaxed);
    if (on == IsIncluded() || (!on && InRangeOfOp())) return;
    c10::impl::tls_set_dispatch_key_included(kDebuggerKey, on);
    if (on) OpTracer::Resume();
  }

  bool MissesThread() const override {
    return dispatch_tracing.on.load(std::memory_order_relaxed) && !IsIncluded();
  }

  bool FollowsRanges() const override { return follows_ranges_; }

 private:
  static bool IsIncluded() {
    return c10::impl::tls_is_dispatch_key_included(kDebuggerKey);
  }

  const bool follows_ranges_ = RegisterRangeKernels();
};

}  // namespace

CaptureEngine* MakeDispatchEngine(OpTracer* tracer) {
  dispatch_tracing.tracer = tracer;
  // Never destroyed: threads may run ops during process exit.
  static auto* const library = new torch::Library(
      torch::Library::IMPL, "_", kDebuggerKey, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  RegisterTypedKernels();
  RegisterFallthroughs();
  return new DispatchEngine;
}

}  // namespace graphdbg::pytorch
