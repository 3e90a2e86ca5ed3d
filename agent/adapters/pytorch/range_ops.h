#ifndef AGENT_ADAPTERS_PYTORCH_RANGE_OPS_H_
#define AGENT_ADAPTERS_PYTORCH_RANGE_OPS_H_

#include <ATen/core/operator_name.h>

#include <string_view>

namespace graphdbg::pytorch {

// Python's torch.profiler.record_function marks ranges by two ops. With kernels
// of them for the debugger's dispatch key, ranges are followed at no cost to
// anything else: with a callback of at::RecordFunction, PyTorch sorts out its
// callbacks for each node of a backward pass.

// Registers the kernels. Returns false if this PyTorch has no such ops.
bool RegisterRangeKernels();
bool IsRangeOp(const c10::OperatorName& name);

// Whether this thread has entered a range that it will leave by such an op.
bool InRangeOfOp();

// Called in the range of an optimizer's step on a thread whose ops were not
// traced until now, so that entering the range was missed.
void EnterMissedStep(std::string_view optimizer);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_RANGE_OPS_H_
