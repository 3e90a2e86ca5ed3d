#include "agent/adapters/pytorch/range_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string>
#include <vector>

#include "agent/adapters/pytorch/dispatch_call.h"
#include "agent/adapters/pytorch/ranges.h"

namespace graphdbg::pytorch {
namespace {

// _record_function_enter_new(str name, str? args) -> _RecordFunction
constexpr char kEnter[] = "profiler::_record_function_enter_new";
// _record_function_exit._RecordFunction(_RecordFunction range) -> ()
constexpr char kLeave[] = "profiler::_record_function_exit";
constexpr char kLeaveOverload[] = "_RecordFunction";

struct OpenRange {
  // The object that stands for it; null if entering it was missed.
  const void* handle;
  RangeKind kind;
};
// The ranges that this thread is in, innermost last. Ranges of no interest are
// left out, unless the outermost one has no handle.
thread_local std::vector<OpenRange> open_ranges;

const void* HandleOf(const c10::IValue& range) {
  return range.isObject() ? &range.toObjectRef() : nullptr;
}

bool MissedEntering() {
  return !open_ranges.empty() && open_ranges.front().handle == nullptr;
}

void Enter(std::string_view name, const void* handle) {
  // Before PyTorch 2.0, optimizers enter it only after they have told of their
  // step.
  if (MissedEntering() && open_ranges.size() == 1 &&
      KindOfRange(name) == RangeKind::kOptimizerStep) {
    open_ranges.front().handle = handle;
    return;
  }
  const RangeKind kind = EnterRange(name);
  if (kind != RangeKind::kOther || MissedEntering()) {
    open_ranges.push_back({handle, kind});
  }
}

void Leave(const void* handle) {
  size_t i = open_ranges.size();
  while (i > 0 && open_ranges[i - 1].handle != handle) --i;
  if (i == 0) {
    if (!MissedEntering()) return;
    i = 1;
  }
  const RangeKind kind = open_ranges[i - 1].kind;
  // Those within it are not left any more.
  open_ranges.resize(i - 1);
  LeaveRange(kind);
}

void EnterKernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  const std::string name = torch::jit::peek(*stack, 0, 2).toStringRef();
  op.redispatchBoxed(KeysBelowDebugger(keys), stack);
  if (!TracesThisThread()) return;
  dispatch_tracing.tracer->Guarded(
      [&] { Enter(name, HandleOf(stack->back())); });
}

void LeaveKernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  const void* const handle = HandleOf(stack->back());
  op.redispatchBoxed(KeysBelowDebugger(keys), stack);
  dispatch_tracing.tracer->Guarded([&] { Leave(handle); });
  TracesThisThread();
}

}  // namespace

bool RegisterRangeKernels() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (!dispatcher.findSchema({kEnter, ""}) ||
      !dispatcher.findSchema({kLeave, kLeaveOverload})) {
    return false;
  }
  // Never destroyed: threads may leave ranges during process exit.
  static auto* const library = new torch::Library(
      torch::Library::IMPL, "profiler", kDebuggerKey, __FILE__, __LINE__);
  library->impl(kEnter,
                torch::CppFunction::makeFromBoxedFunction<&EnterKernel>());
  library->impl("profiler::_record_function_exit._RecordFunction",
                torch::CppFunction::makeFromBoxedFunction<&LeaveKernel>());
  return true;
}

bool IsRangeOp(const c10::OperatorName& name) {
  return name.name == kEnter ||
         (name.name == kLeave && name.overload_name == kLeaveOverload);
}

bool InRangeOfOp() { return !open_ranges.empty(); }

void EnterMissedStep(std::string_view optimizer) {
  open_ranges.assign(1, {nullptr, RangeKind::kOptimizerStep});
  EnterStepOf(optimizer);
}

}  // namespace graphdbg::pytorch
