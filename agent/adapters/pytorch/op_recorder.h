#ifndef AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_
#define AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_

#include <ATen/record_function.h>

#include "agent/adapters/pytorch/op_tracer.h"

namespace graphdbg::pytorch {

// Traces the outermost ops with kernels of their own that PyTorch reports to
// RecordFunction callbacks. `tracer` is the same at every call, of which each
// returns a callback for one registration.
at::RecordFunctionCallback OpRecorder(OpTracer* tracer);

// While it exists, this thread's ops that bypass a dispatch key, because it is
// excluded on the thread, are recorded. Instances may nest.
class RecordOpsThatBypass {
 public:
  RecordOpsThatBypass(c10::DispatchKey key, OpTracer* tracer);
  ~RecordOpsThatBypass();
  RecordOpsThatBypass(const RecordOpsThatBypass&) = delete;
  RecordOpsThatBypass& operator=(const RecordOpsThatBypass&) = delete;

 private:
  bool outermost_ = false;
  at::CallbackHandle callback_ = 0;
};

// While it exists, no ops of this thread are recorded: they belong to the
// kernel of an op.
class RecordNoOps {
 public:
  explicit RecordNoOps(ThreadState* thread) : thread_(thread) {
    ++thread_->op_depth;
  }
  ~RecordNoOps() { --thread_->op_depth; }
  RecordNoOps(const RecordNoOps&) = delete;
  RecordNoOps& operator=(const RecordNoOps&) = delete;

 private:
  ThreadState* const thread_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_
