#ifndef AGENT_ADAPTERS_PYTORCH_RANGES_H_
#define AGENT_ADAPTERS_PYTORCH_RANGES_H_

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_tracer.h"

namespace graphdbg::pytorch {

// Traces the ranges that PyTorch itself marks: calls of optimizers and loading
// of data. Every node of a backward pass costs a few hundred nanoseconds more
// meanwhile, because PyTorch sorts out its callbacks for each.
//
// From now on, until StopTracingRanges(); a range that is entered by then is
// still left. Any thread. The arguments must outlive the process's use of
// PyTorch.
void TraceRanges(OpTracer* follower, CaptureEngine* engine);
void StopTracingRanges();

// Detects the first backward pass from now on, until StopWaitingForBackward().
void WaitForBackward();
void StopWaitingForBackward();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_RANGES_H_
