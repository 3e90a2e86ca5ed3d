#ifndef AGENT_ADAPTERS_PYTORCH_DISPATCH_ENGINE_H_
#define AGENT_ADAPTERS_PYTORCH_DISPATCH_ENGINE_H_

#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <exception>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_recorder.h"
#include "agent/adapters/pytorch/op_tracer.h"

// What the kernels of the dispatch engine share: the fallback for all ops, and
// those for frequent ops (unboxed_ops.cc).
namespace graphdbg::pytorch {

// This key is above autograd and autocast, so that ops are those that the
// program called. PyTorch reserves it for an external project that was
// discontinued.
constexpr c10::DispatchKey kEngineKey = c10::DispatchKey::DeferredInit;

inline c10::DispatchKeySet KeysAfterEngine(c10::DispatchKeySet keys) {
  return keys &
         c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kEngineKey);
}

// How a call goes on that has reached the engine.
enum class DispatchedCall {
  // As if there were no engine.
  kUnfollowed,
  // Python handles the op, with all keys above its own excluded: follow what
  // it calls by other means.
  kByPython,
  // Its kernel runs now: use a FollowedOp.
  kFollowed,
};

OpTracer* DispatchTracer();
// Whether this thread's ops are to be followed. If not, they no longer reach
// the engine.
bool FollowsThread();
// The way of a call with these keys on a thread that is followed.
DispatchedCall WayOf(const OpInfo& op, c10::DispatchKeySet keys);

// One execution of an op. While it exists, ops that the op's kernel calls are
// not followed.
class FollowedOp {
 public:
  FollowedOp(const OpInfo& op, c10::ArrayRef<c10::IValue> arguments)
      : inside_(kEngineKey) {
    DispatchTracer()->Guarded(
        [&] { thread_ = DispatchTracer()->Begin(op, arguments); });
  }

  // Calls `run` and returns its result. If it throws, the op has failed with
  // what `arguments` returns, which may be fewer arguments.
  template <typename Run, typename Arguments>
  decltype(auto) Call(const Run& run, const Arguments& arguments);

  // After a run that succeeded. May wait for the user.
  void End(c10::ArrayRef<c10::IValue> results) {
    if (thread_ == nullptr) return;
    DispatchTracer()->Guarded([&] { DispatchTracer()->End(thread_, results); });
  }

 private:
  void Fail(c10::ArrayRef<c10::IValue> arguments, const char* message) {
    if (thread_ == nullptr) return;
    DispatchTracer()->Guarded(
        [&] { DispatchTracer()->Fail(thread_, arguments, message); });
  }

  const c10::impl::ExcludeDispatchKeyGuard inside_;
  const RecordNoOps kernel_;
  // Null if the op is not a node.
  ThreadState* thread_ = nullptr;
};

template <typename Run, typename Arguments>
decltype(auto) FollowedOp::Call(const Run& run, const Arguments& arguments) {
  try {
    return run();
  } catch (const c10::Error& error) {
    Fail(arguments(), error.what_without_backtrace());
    throw;
  } catch (const std::exception& error) {
    Fail(arguments(), error.what());
    throw;
  } catch (...) {
    Fail(arguments(), "");
    throw;
  }
}

// Registers kernels for ops that are called so often that boxing their
// arguments matters. They live as long as the process.
void RegisterUnboxedOps();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_DISPATCH_ENGINE_H_
