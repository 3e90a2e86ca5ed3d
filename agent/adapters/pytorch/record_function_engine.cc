#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <exception>
#include <memory>
#include <mutex>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

using Observer = std::unique_ptr<at::ObserverContext>;

OpFollower* record_follower = nullptr;

struct LeafOp {
  // Depth inside of it; 0 outside. What runs inside an op with kernels of its
  // own is that kernel's business.
  int depth = 0;
  // Whose op has begun; else null.
  ThreadState* thread = nullptr;
  int exceptions = 0;
};
thread_local LeafOp leaf;

bool TakesWrappers(c10::ArrayRef<const c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && IsWrapper(argument.toTensor())) return true;
  }
  return false;
}

Observer StartOp(const at::RecordFunction& fn) {
  if (leaf.depth > 0) {
    ++leaf.depth;
    return nullptr;
  }
  record_follower->Guarded([&fn] {
    const OpInfo* const op = FindOp(fn);
    if (op == nullptr || !op->leaf || at::in_parallel_region() ||
        TakesWrappers(fn.inputs())) {
      return;
    }
    leaf.depth = 1;
    leaf.exceptions = std::uncaught_exceptions();
    const c10::ArrayRef<c10::IValue> arguments(fn.inputs().data(),
                                               fn.inputs().size());
    leaf.thread = record_follower->Begin(*op, arguments);
  });
  return nullptr;
}

void EndOp(const at::RecordFunction& fn, at::ObserverContext*) {
  ThreadState* const thread =
      leaf.depth == 1 ? std::exchange(leaf.thread, nullptr) : nullptr;
  if (thread != nullptr) {
    // Inside the leaf still: what the agent's host does is not followed.
    record_follower->Guarded([&fn, thread] {
      if (std::uncaught_exceptions() == leaf.exceptions) {
        record_follower->End(thread, fn.outputs());
      } else {
        record_follower->Abandon(thread);
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

  void FollowOps(bool on) override {
    const std::lock_guard<std::mutex> lock(mu_);
    if (on == following_) return;
    following_ = on;
    if (on) {
      OpFollower::Resume();
      at::reenableCallback(callback_);
    } else {
      at::disableCallback(callback_);
    }
  }

 private:
  std::mutex mu_;
  bool following_ = false;
  at::CallbackHandle callback_;
};

}  // namespace

CaptureEngine* MakeRecordFunctionEngine(OpFollower* the_follower) {
  record_follower = the_follower;
  return new RecordFunctionEngine;
}

}  // namespace graphdbg::pytorch
