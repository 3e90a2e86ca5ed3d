#ifndef AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_
#define AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_

#include "agent/adapters/pytorch/op_follower.h"

namespace graphdbg::pytorch {

// How ops are learned of. Both engines see the same ops: the outermost ones
// that have kernels of their own, on every thread.
//
// Any thread.
class CaptureEngine {
 public:
  virtual ~CaptureEngine() = default;
  // Whether ops are followed. Off costs nothing.
  virtual void FollowOps(bool on) = 0;
  // To be called where this thread enters something that is to be followed.
  virtual void SyncThread() {}
};

// PyTorch's RecordFunction callbacks, as its profiler uses them. Works with
// compiled code and whatever else PyTorch does.
CaptureEngine* MakeRecordFunctionEngine(OpFollower* follower);

// A fallback kernel of the dispatcher, for a key that PyTorch itself does not
// use, switched on per thread: about half the cost. The key is part of what
// compiled code checks before it runs.
CaptureEngine* MakeDispatchEngine(OpFollower* follower);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CAPTURE_ENGINE_H_
