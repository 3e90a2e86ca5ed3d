// Statistics of a tensor in host memory: one pass, at about the speed of
// memory.
#ifndef AGENT_KERNELS_CPU_CPU_STATISTICS_H_
#define AGENT_KERNELS_CPU_CPU_STATISTICS_H_

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// False if statistics are not defined for the view's dtype or its shape is not
// one. Counts, min and max are exact; the others agree with the reference to
// 1e-12 of their own size (the mean: of the mean absolute value). Allocates
// nothing, needs 100 KiB of stack; any thread.
bool ComputeStatistics(const TensorView& view, Statistics* statistics);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CPU_STATISTICS_H_
