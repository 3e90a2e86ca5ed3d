#ifndef AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_
#define AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_

#include "agent/adapters/pytorch/op_tracer.h"

namespace graphdbg::pytorch {

// Intercepts ops. Both engines see the same ops: the outermost ones that have
// kernels of their own, on every thread.
//
// Thread-safe.
class CaptureEngine {
 public:
  virtual ~CaptureEngine() = default;
  // Turns tracing on or off. There is no overhead while it is off.
  virtual void TraceOps(bool on) = 0;
  // Must be called when this thread enters code that has to be traced.
  virtual void SyncThread() {}
  // Whether this thread's ops are traced once SyncThread() is called, but not
  // yet.
  virtual bool MissesThread() const { return false; }
  // Whether the ranges that PyTorch marks are followed, too, while ops are
  // traced.
  virtual bool FollowsRanges() const { return false; }
};

// Uses PyTorch's RecordFunction callbacks, like its profiler. Compatible with
// compiled code and all other features of PyTorch.
CaptureEngine* MakeRecordFunctionEngine(OpTracer* follower);

// Uses a fallback kernel of the dispatcher for a key that PyTorch itself does
// not use, enabled per thread. Has about half the overhead, but the key
// invalidates the guards of compiled code.
CaptureEngine* MakeDispatchEngine(OpTracer* follower);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_
