#ifndef AGENT_ADAPTERS_PYTORCH_RANGES_H_
#define AGENT_ADAPTERS_PYTORCH_RANGES_H_

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_tracer.h"

namespace graphdbg::pytorch {

// Traces the ranges that PyTorch itself marks: calls of optimizers, loading of
// data, and the first backward pass. No overhead between ranges.
//
// Called once per process; the arguments must outlive the process's use of
// PyTorch.
void TraceRanges(OpTracer* follower, CaptureEngine* engine);

// Stops detecting the first backward pass.
void StopWaitingForBackward();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_RANGES_H_
