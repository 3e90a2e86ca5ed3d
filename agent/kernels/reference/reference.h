// The definition of every statistic: plain, slow and obviously right. Other
// kernels are tested against it.
#ifndef AGENT_KERNELS_REFERENCE_REFERENCE_H_
#define AGENT_KERNELS_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::reference {

// False if statistics are not defined for the view's dtype or its shape is not
// one. An element that a view shows twice counts twice.
bool ComputeStatistics(const TensorView& view, Statistics* statistics);

// Elements within [start, end]; NaN is in no range. Absent as above.
std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end);

// The same tensor at two times. False (absent) if the views differ in dtype or
// shape, or as above.
bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics);
// Elements that are not close to their previous value.
std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance);

// The element at `p` as a number, exactly for all but 64-bit integers beyond
// 2^53 where double is no long double. `dtype` must have statistics.
long double ElementValue(DType dtype, const void* p);

}  // namespace graphdbg::reference

#endif  // AGENT_KERNELS_REFERENCE_REFERENCE_H_
