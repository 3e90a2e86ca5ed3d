// Statistics of a tensor in host memory: one pass, at roughly the speed of
// memory.
#ifndef AGENT_KERNELS_CPU_CPU_STATISTICS_H_
#define AGENT_KERNELS_CPU_CPU_STATISTICS_H_

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Returns false if statistics are not defined for the view's dtype or if its
// shape is invalid. Counts, min and max are exact; the other values agree with
// the reference within a relative tolerance of 1e-12 (the mean: relative to the
// mean absolute value). Thread-safe; does not allocate, needs 100 KiB of stack.
bool ComputeStatistics(const TensorView& view, Statistics* statistics);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CPU_STATISTICS_H_
