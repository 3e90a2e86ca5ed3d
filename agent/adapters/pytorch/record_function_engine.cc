#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <exception>
#include <memory>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "agent/base/mutex.h"

namespace graphdbg::pytorch {
namespace {

using Observer = std::unique_ptr<at::ObserverContext>;

OpTracer* record_tracer = nullptr;

struct LeafOp {
  // Nesting depth; 0 outside of ops. Ops called by the kernel of an op are not
  // traced.
  int depth = 0;
  // The thread's state if the op is traced, otherwise null.
  ThreadState* thread = nullptr;
  int exceptions = 0;
};
thread_local LeafOp leaf;

bool HasWrapperArguments(c10::ArrayRef<const c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && IsWrapper(argument.toTensor())) return true;
  }
  return false;
}

c10::ArrayRef<c10::IValue> ArgumentsOf(const at::RecordFunction& fn) {
  return c10::ArrayRef<c10::IValue>(fn.inputs().data(), fn.inputs().size());
}

// The keys of all tensor arguments together, as the dispatcher computes them.
c10::DispatchKeySet KeysOf(c10::ArrayRef<const c10::IValue> arguments) {
  c10::DispatchKeySet keys;
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) keys = keys | argument.toTensor().key_set();
  }
  return keys;
}

bool IsLeaf(const OpInfo& op, c10::ArrayRef<const c10::IValue> arguments) {
  return !HasWrapperArguments(arguments) && !at::in_parallel_region() &&
         (!op.composite || op.IsLeaf(KeysOf(arguments)));
}

Observer StartOp(const at::RecordFunction& fn) {
  if (leaf.depth > 0) {
    ++leaf.depth;
    return nullptr;
  }
  record_tracer->Guarded([&fn] {
    const OpInfo* const op = FindOp(fn);
    const c10::ArrayRef<c10::IValue> arguments = ArgumentsOf(fn);
    if (op == nullptr || !IsLeaf(*op, arguments)) return;
    leaf.depth = 1;
    leaf.exceptions = std::uncaught_exceptions();
    leaf.thread = record_tracer->Begin(*op, arguments);
  });
  return nullptr;
}

void EndOp(const at::RecordFunction& fn, at::ObserverContext*) {
  ThreadState* const thread =
      leaf.depth == 1 ? std::exchange(leaf.thread, nullptr) : nullptr;
  if (thread != nullptr) {
    // The depth is still 1, so that ops of the agent's callbacks are not
    // traced.
    record_tracer->Guarded([&fn, thread] {
      if (std::uncaught_exceptions() == leaf.exceptions) {
        record_tracer->End(thread, fn.outputs());
      } else {
        record_tracer->Fail(thread, ArgumentsOf(fn), "");
      }
    });
  }
  if (leaf.depth > 0) --leaf.depth;
}

class RecordFunctionEngine : public CaptureEngine {
 public:
  RecordFunctionEngine() {
    callback_ = at::addGlobalCallback(at::RecordFunctionCallback(StartOp, EndOp)
                                          .needsInputs(true)
                                          .needsOutputs(true)
                                          .scopes({at::RecordScope::FUNCTION}));
    at::disableCallback(callback_);
  }

  void TraceOps(bool on) override {
    MutexLock lock(&mu_);
    if (on == tracing_) return;
    tracing_ = on;
    if (on) {
      OpTracer::Resume();
      at::reenableCallback(callback_);
    } else {
      at::disableCallback(callback_);
    }
  }

 private:
  Mutex mu_;
  bool tracing_ GRAPHDBG_GUARDED_BY(mu_) = false;
  at::CallbackHandle callback_;
};

}  // namespace

CaptureEngine* MakeRecordFunctionEngine(OpTracer* tracer) {
  record_tracer = tracer;
  return new RecordFunctionEngine;
}

}  // namespace graphdbg::pytorch
