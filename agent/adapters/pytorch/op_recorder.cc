#include "agent/adapters/pytorch/op_recorder.h"

#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <exception>
#include <memory>
#include <utility>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

using Observer = std::unique_ptr<at::ObserverContext>;

OpTracer* record_tracer = nullptr;

struct LeafOp {
  // Whether the op that runs is traced.
  bool traced = false;
  int exceptions = 0;
  // Set while only ops that bypass this key are recorded.
  c10::DispatchKey bypassed = c10::DispatchKey::Undefined;
};
thread_local LeafOp leaf;

c10::ArrayRef<c10::IValue> ArgumentsOf(const at::RecordFunction& fn) {
  return c10::ArrayRef<c10::IValue>(fn.inputs().data(), fn.inputs().size());
}

// The keys of all tensor arguments together, as the dispatcher computes them.
c10::DispatchKeySet KeysOf(c10::ArrayRef<const c10::IValue> arguments) {
  c10::DispatchKeySet keys;
  const auto add = [&keys](const c10::IValue& value) {
    if (!value.isTensor() || !value.toTensor().defined()) return;
    keys = keys | value.toTensor().key_set();
  };
  for (const c10::IValue& argument : arguments) {
    add(argument);
    if (!argument.isTensorList() && !argument.isOptionalTensorList()) continue;
    for (const c10::IValue& element : argument.toListRef()) add(element);
  }
  return keys;
}

// Whether the op makes a tensor of the meta device, which has a shape only.
bool ComputesShape(c10::ArrayRef<const c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isDevice() && argument.toDevice().is_meta()) return true;
  }
  return false;
}

bool IsRecordedLeaf(const OpInfo& op,
                    c10::ArrayRef<const c10::IValue> arguments) {
  const c10::DispatchKeySet keys = KeysOf(arguments);
  return !HasWrapperKeys(keys) && op.IsLeaf(keys) &&
         !at::in_parallel_region() && !ComputesShape(arguments);
}

// Whether the dispatcher's own hook sees the ops of this thread.
bool SeenByKey() {
  return leaf.bypassed != c10::DispatchKey::Undefined &&
         !c10::impl::tls_is_dispatch_key_excluded(leaf.bypassed);
}

Observer StartOp(const at::RecordFunction& fn) {
  ThreadState& thread = CurrentThread();
  if (thread.op_depth > 0) {
    ++thread.op_depth;
    return nullptr;
  }
  if (SeenByKey()) return nullptr;
  record_tracer->Guarded([&fn, &thread] {
    const OpInfo* const op = FindOp(fn);
    const c10::ArrayRef<c10::IValue> arguments = ArgumentsOf(fn);
    if (op == nullptr || !IsRecordedLeaf(*op, arguments)) return;
    thread.op_depth = 1;
    leaf.exceptions = std::uncaught_exceptions();
    leaf.traced = record_tracer->Begin(&thread, *op, BoxedOpValues(arguments),
                                       ArgumentLifetime::kKernel);
  });
  return nullptr;
}

void EndOp(const at::RecordFunction& fn, at::ObserverContext*) {
  ThreadState& thread = CurrentThread();
  if (thread.op_depth == 1 && std::exchange(leaf.traced, false)) {
    // The depth is still 1, so that ops of the agent's callbacks are not
    // traced.
    record_tracer->Guarded([&fn, &thread] {
      if (std::uncaught_exceptions() == leaf.exceptions) {
        record_tracer->End(&thread, BoxedOpValues(fn.outputs()));
      } else {
        record_tracer->Fail(&thread, BoxedOpValues(ArgumentsOf(fn)), "");
      }
    });
  }
  if (thread.op_depth > 0) --thread.op_depth;
}

}  // namespace

at::RecordFunctionCallback OpRecorder(OpTracer* tracer) {
  record_tracer = tracer;
  return at::RecordFunctionCallback(StartOp, EndOp)
      .needsInputs(true)
      .needsOutputs(true)
      .scopes({at::RecordScope::FUNCTION});
}

RecordOpsThatBypass::RecordOpsThatBypass(c10::DispatchKey key,
                                         OpTracer* tracer) {
  if (leaf.bypassed != c10::DispatchKey::Undefined) return;
  outermost_ = true;
  leaf.bypassed = key;
  callback_ = at::addThreadLocalCallback(OpRecorder(tracer));
}

RecordOpsThatBypass::~RecordOpsThatBypass() {
  if (!outermost_) return;
  at::removeCallback(callback_);
  leaf.bypassed = c10::DispatchKey::Undefined;
}

}  // namespace graphdbg::pytorch
