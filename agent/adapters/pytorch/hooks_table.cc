// The table of functions that hooks in Python or C++ call.
#include <c10/core/GradMode.h>

#include "agent/adapters/pytorch/adapter.h"
#include "agent/adapters/pytorch/host_calls.h"
#include "agent/adapters/pytorch/range_ops.h"
#include "agent/adapters/pytorch/ranges.h"

namespace {

using graphdbg::pytorch::Adapter;
using graphdbg::pytorch::BoundTensors;
using graphdbg::pytorch::ContextKind;
using graphdbg::pytorch::ContextStack;
using graphdbg::pytorch::CurrentThread;
using graphdbg::pytorch::EnterMissedStep;
using graphdbg::pytorch::EnterRange;
using graphdbg::pytorch::EvaluatedNode;
using graphdbg::pytorch::LeaveRange;
using graphdbg::pytorch::RangeKind;

// Calls `body` and returns its result. Exceptions do not escape: they disable
// tracing, and `fallback` is returned.
template <typename Result, typename Body>
Result CallOr(Result fallback, Body body) {
  Adapter::Get().Guarded([&] { fallback = body(); });
  return fallback;
}

const graphdbg_torch_adapter kTable = {
    GRAPHDBG_HOOKS_API_VERSION,
    /*open=*/
    [](const char* torch_version, const char* job_name,
       const graphdbg_interpreter* interpreter, int joins) {
      return CallOr(GRAPHDBG_INTERNAL, [&] {
        return Adapter::Get().Open(torch_version, job_name, interpreter,
                                   joins != 0);
      });
    },
    /*detach_interpreter=*/[] { Adapter::Get().DetachInterpreter(); },
    /*leak_storages=*/graphdbg::pytorch::LeakStorages,
    /*failed=*/
    [](const graphdbg_ending* ending, uint32_t scope, const char* file,
       uint32_t line) {
      return CallOr(GRAPHDBG_INTERNAL, [&] {
        return Adapter::Get().Failed(*ending, scope, file, line);
      });
    },
    /*close=*/
    [](const graphdbg_ending* ending) { Adapter::Get().Close(ending); },
    /*declare_scope=*/
    [](const char* path, const char* type, int now) {
      return CallOr(uint32_t{0}, [&] {
        return Adapter::Get().graph().DeclareScope(path, type, now != 0);
      });
    },
    /*bind_tensor=*/
    [](uint32_t scope, const char* name, graphdbg_node_kind kind,
       const void* tensor) {
      CallOr(0, [&] {
        Adapter::Get().graph().BindTensor(
            scope, name, kind,
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*release_tensor=*/
    [](const void* tensor) {
      return CallOr(static_cast<void*>(nullptr), [&]() -> void* {
        return Adapter::Get().graph().bound().Release(
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
      });
    },
    /*hold_tensor=*/
    [](void* binding, const void* tensor) {
      CallOr(0, [&] {
        Adapter::Get().graph().bound().Hold(
            static_cast<BoundTensors::Binding*>(binding),
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*is_idle=*/[] { return Adapter::Get().idle() ? 1 : 0; },
    /*enter=*/
    [](uint32_t scope) {
      return CallOr(size_t{0}, [&] {
        return Adapter::Get().Enter(ContextKind::kModule, scope);
      });
    },
    /*enter_program=*/
    [] {
      return CallOr(size_t{0}, [] {
        return Adapter::Get().Enter(ContextKind::kProgram, 0);
      });
    },
    /*enter_ignored=*/
    [] {
      return CallOr(size_t{0}, [] {
        return Adapter::Get().Enter(ContextKind::kIgnored, 0);
      });
    },
    /*leave=*/
    [](size_t depth) { CurrentThread().contexts.PopTo(depth); },
    /*enter_region=*/
    [](const void* const* inputs, size_t count) {
      return CallOr(
          0, [&] { return Adapter::Get().EnterRegion(inputs, count) ? 1 : 0; });
    },
    /*leave_region=*/
    [](const void* const* outputs, size_t count) {
      CallOr(0, [&] {
        Adapter::Get().LeaveRegion(outputs, count);
        return 0;
      });
    },
    /*current_scope=*/
    [](int* inside) {
      const ContextStack& contexts = CurrentThread().contexts;
      *inside = contexts.Outside() && EvaluatedNode() == nullptr ? 0 : 1;
      return contexts.ModuleScope();
    },
    /*wants_inputs=*/[] { return Adapter::Get().NeedsModelInputs() ? 1 : 0; },
    /*give_input=*/
    [](uint32_t scope, const char* name, const void* tensor) {
      CallOr(0, [&] {
        Adapter::Get().AddModelInput(
            scope, name,
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*enter_model=*/
    [](uint32_t scope, int training) {
      return CallOr(GRAPHDBG_OK, [&] {
        return Adapter::Get().EnterModel(scope, training != 0);
      });
    },
    /*leave_model=*/
    [] {
      return CallOr(GRAPHDBG_OK, [] { return Adapter::Get().LeaveModel(); });
    },
    /*optimizer_seen=*/[] { Adapter::Get().OnOptimizerCreated(); },
    /*step_end=*/
    [] { return CallOr(GRAPHDBG_OK, [] { return Adapter::Get().StepEnd(); }); },
    /*last_step=*/
    [] { CallOr(GRAPHDBG_OK, [] { return Adapter::Get().FinishOpenStep(); }); },
    /*start=*/
    [] {
      return CallOr(GRAPHDBG_OK,
                    [] { return Adapter::Get().Start(/*trains=*/true); });
    },
    /*enter_backward=*/
    [](int creates_graph, uint64_t* token) {
      *token = 0;
      return CallOr(GRAPHDBG_OK, [&] {
        return Adapter::Get().EnterBackward(creates_graph != 0, token);
      });
    },
    /*leave_backward=*/
    [](int creates_graph, int accumulates, uint64_t token) {
      return CallOr(GRAPHDBG_OK, [&] {
        return Adapter::Get().LeaveBackward(creates_graph != 0,
                                            accumulates != 0, token);
      });
    },
    /*set_grad_scale=*/[](double scale) { Adapter::Get().SetGradScale(scale); },
    /*notify=*/[](const char* line) { Adapter::Get().Notify(line); },
    /*records_gradients=*/
    [] { return c10::GradMode::is_enabled() ? 1 : 0; },
    /*watches=*/
    [](const char* condition) {
      return Adapter::Get().Watches(condition) ? 1 : 0;
    },
    /*report=*/
    [](const char* condition, const void* tensor, const char* message,
       const char* file, uint32_t line) {
      return CallOr(0, [&] {
        return Adapter::Get().Report(
                   condition,
                   static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)),
                   message, file, line)
                   ? 1
                   : 0;
      });
    },
    /*node_of=*/
    [](const void* tensor) {
      return CallOr(0u, [&] {
        return Adapter::Get().graph().NodeOf(
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
      });
    },
    /*connect=*/
    [] {
      return CallOr(GRAPHDBG_INTERNAL, [] { return Adapter::Get().Connect(); });
    },
    /*follow=*/
    [] {
      CallOr(0, [] {
        Adapter::Get().Follow();
        return 0;
      });
    },
    /*forget=*/
    [] {
      CallOr(0, [] {
        Adapter::Get().Forget();
        return 0;
      });
    },
    /*enter_range=*/
    [](const char* name) {
      return CallOr(0, [&] { return static_cast<int>(EnterRange(name)); });
    },
    /*leave_range=*/
    [](int kind) {
      CallOr(0, [&] {
        LeaveRange(static_cast<RangeKind>(kind));
        return 0;
      });
    },
    /*misses_thread=*/[] { return Adapter::Get().MissesThread() ? 1 : 0; },
    /*enter_step=*/
    [](const char* optimizer) {
      CallOr(0, [&] {
        EnterMissedStep(optimizer);
        return 0;
      });
    },
};

}  // namespace

extern "C" const graphdbg_torch_adapter* graphdbg_torch_adapter_get(void) {
  return &kTable;
}
