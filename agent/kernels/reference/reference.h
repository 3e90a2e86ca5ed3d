// The definition of every statistic: simple, slow and evidently correct. All
// other kernels are tested against it.
#ifndef AGENT_KERNELS_REFERENCE_REFERENCE_H_
#define AGENT_KERNELS_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/quantiles.h"
#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::reference {

// Returns false if statistics are not defined for the view's dtype or if its
// shape is invalid. Broadcast elements count as often as they occur.
bool ComputeStatistics(const TensorView& view, Statistics* statistics);

// Absent if there is no finite element, or ComputeStatistics() would return
// false.
std::optional<Quantiles> ComputeQuantiles(const TensorView& view);

// Number of elements within [start, end]; NaN is in no range. Absent if
// ComputeStatistics() would return false.
std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end);

// Compares a tensor with its previous value. Returns false if the views differ
// in dtype or shape, or if ComputeStatistics() would.
bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics);
// Number of elements that are not close to their previous value. Absent if
// ComparePair() would return false.
std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance);

// The value of the element at `p`. Exact, except for 64-bit integers beyond
// 2^53 on platforms whose long double is a double. `dtype` must have
// statistics.
long double ElementValue(DType dtype, const void* p);

}  // namespace graphdbg::reference

#endif  // AGENT_KERNELS_REFERENCE_REFERENCE_H_
