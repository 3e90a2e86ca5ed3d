// The table of functions through which hooks, in Python or C++, reach the
// adapter.
#include "agent/adapters/pytorch/adapter.h"

namespace {

using graphdbg::pytorch::Adapter;
using graphdbg::pytorch::BoundTensors;
using graphdbg::pytorch::ContextKind;
using graphdbg::pytorch::ContextStack;
using graphdbg::pytorch::CurrentThread;
using graphdbg::pytorch::EvaluatedNode;

// No function of the table lets an exception out: it ends the debugging.
template <typename Result, typename Body>
Result OrElse(Result otherwise, Body body) {
  Adapter::Get().Guarded([&] { otherwise = body(); });
  return otherwise;
}

const graphdbg_torch_adapter kTable = {
    GRAPHDBG_HOOKS_API_VERSION,
    /*open=*/
    [](const char* torch_version, const char* job_name,
       const graphdbg_interpreter* interpreter) {
      return OrElse(GRAPHDBG_INTERNAL, [&] {
        return Adapter::Get().Open(torch_version, job_name, interpreter);
      });
    },
    /*detach_interpreter=*/[] { Adapter::Get().DetachInterpreter(); },
    /*close=*/
    [](const graphdbg_ending* ending) { Adapter::Get().Close(ending); },
    /*declare_scope=*/
    [](const char* path, const char* type, int now) {
      return OrElse(uint32_t{0}, [&] {
        return Adapter::Get().graph().DeclareScope(path, type, now != 0);
      });
    },
    /*bind_tensor=*/
    [](uint32_t scope, const char* name, graphdbg_node_kind kind,
       const void* tensor) {
      OrElse(0, [&] {
        Adapter::Get().graph().BindTensor(
            scope, name, kind,
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*release_tensor=*/
    [](const void* tensor) {
      return OrElse(static_cast<void*>(nullptr), [&]() -> void* {
        return Adapter::Get().graph().bound().Release(
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
      });
    },
    /*hold_tensor=*/
    [](void* binding, const void* tensor) {
      OrElse(0, [&] {
        Adapter::Get().graph().bound().Hold(
            static_cast<BoundTensors::Binding*>(binding),
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*enter=*/
    [](uint32_t scope) {
      return OrElse(size_t{0}, [&] {
        return Adapter::Get().Enter(ContextKind::kModule, scope);
      });
    },
    /*enter_program=*/
    [] {
      return OrElse(size_t{0}, [] {
        return Adapter::Get().Enter(ContextKind::kProgram, 0);
      });
    },
    /*leave=*/
    [](size_t depth) { CurrentThread().contexts.PopTo(depth); },
    /*enter_region=*/
    [](const void* const* inputs, size_t count) {
      return OrElse(
          0, [&] { return Adapter::Get().EnterRegion(inputs, count) ? 1 : 0; });
    },
    /*leave_region=*/
    [](const void* const* outputs, size_t count) {
      OrElse(0, [&] {
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
    /*wants_inputs=*/[] { return Adapter::Get().WantsInputs() ? 1 : 0; },
    /*give_input=*/
    [](uint32_t scope, const char* name, const void* tensor) {
      OrElse(0, [&] {
        Adapter::Get().GiveInput(
            scope, name,
            static_cast<c10::TensorImpl*>(const_cast<void*>(tensor)));
        return 0;
      });
    },
    /*enter_model=*/
    [](uint32_t scope, int training) {
      return OrElse(GRAPHDBG_OK, [&] {
        return Adapter::Get().EnterModel(scope, training != 0);
      });
    },
    /*leave_model=*/
    [] {
      return OrElse(GRAPHDBG_OK, [] { return Adapter::Get().LeaveModel(); });
    },
    /*optimizer_seen=*/[] { Adapter::Get().OptimizerSeen(); },
    /*step_end=*/
    [] { return OrElse(GRAPHDBG_OK, [] { return Adapter::Get().StepEnd(); }); },
    /*last_step=*/
    [] { OrElse(GRAPHDBG_OK, [] { return Adapter::Get().LastStep(); }); },
    /*start=*/
    [] { return OrElse(GRAPHDBG_OK, [] { return Adapter::Get().Start(); }); },
    /*enter_backward=*/
    [](int creates_graph, uint64_t* token) {
      *token = 0;
      return OrElse(GRAPHDBG_OK, [&] {
        return Adapter::Get().EnterBackward(creates_graph != 0, token);
      });
    },
    /*leave_backward=*/
    [](int creates_graph, int accumulates, uint64_t token) {
      return OrElse(GRAPHDBG_OK, [&] {
        return Adapter::Get().LeaveBackward(creates_graph != 0,
                                            accumulates != 0, token);
      });
    },
    /*set_grad_scale=*/[](double scale) { Adapter::Get().SetGradScale(scale); },
    /*notify=*/[](const char* line) { Adapter::Get().Notify(line); },
};

}  // namespace

extern "C" const graphdbg_torch_adapter* graphdbg_torch_adapter_get(void) {
  return &kTable;
}
