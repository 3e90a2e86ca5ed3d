// How calls of ops are handled at the debugger's dispatch key, whether their
// arguments are boxed or not.
#ifndef AGENT_ADAPTERS_PYTORCH_DISPATCH_CALL_H_
#define AGENT_ADAPTERS_PYTORCH_DISPATCH_CALL_H_

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_recorder.h"
#include "agent/adapters/pytorch/op_tracer.h"
#include "agent/adapters/pytorch/op_values.h"

namespace graphdbg::pytorch {

// This key is above autograd and autocast, so that ops are those that the
// program called. PyTorch reserves it for an external project that was
// discontinued.
inline constexpr c10::DispatchKey kDebuggerKey = c10::DispatchKey::DeferredInit;

// The keys that remain for the kernels below the debugger's.
inline c10::DispatchKeySet KeysBelowDebugger(c10::DispatchKeySet keys) {
  return keys &
         c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kDebuggerKey);
}

struct DispatchTracing {
  OpTracer* tracer = nullptr;
  std::atomic<bool> on{false};
};
inline DispatchTracing dispatch_tracing;

// Whether this thread's ops are traced. If they are not any more, they soon
// bypass the debugger's kernels.
bool TracesThisThread();

enum class Route : uint8_t {
  // The op may be a node of the graph, and a LeafCall surrounds it.
  kLeaf,
  // Python handles it, and a RecordOpsThatBypass surrounds it.
  kPython,
  // It is none of the debugger's business, or calls ops that are.
  kPassed
};
Route RouteOf(const OpInfo& op, c10::DispatchKeySet keys);

// Surrounds the kernel of an op, whose own ops are not traced.
class LeafCall {
 public:
  LeafCall(const OpInfo& op, OpValues arguments, ArgumentLifetime lifetime);
  LeafCall(const LeafCall&) = delete;
  LeafCall& operator=(const LeafCall&) = delete;

  // Calls `kernel`. If it throws, reports that and the arguments, which are the
  // result of `arguments()`, and throws the same.
  template <class Kernel, class Arguments>
  decltype(auto) Run(Kernel kernel, Arguments arguments) {
    if (!traced_) return kernel();
    try {
      return kernel();
    } catch (...) {
      Fail(arguments());
      throw;
    }
  }
  // Whether End() has anything to do.
  bool traced() const { return traced_; }
  void End(OpValues results);

 private:
  // Called while the exception is handled.
  void Fail(OpValues arguments);

  const c10::impl::ExcludeDispatchKeyGuard inside_{kDebuggerKey};
  ThreadState* const thread_ = &CurrentThread();
  const RecordNoOps no_ops_{thread_};
  bool traced_ = false;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_DISPATCH_CALL_H_
