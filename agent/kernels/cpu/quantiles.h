// Quantiles of a tensor in host memory, from a histogram of fixed size whose
// buckets have a bounded relative width.
#ifndef AGENT_KERNELS_CPU_QUANTILES_H_
#define AGENT_KERNELS_CPU_QUANTILES_H_

#include "agent/kernels/quantiles.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Up to this many finite elements, quantiles are exact.
constexpr size_t kExactQuantileElements = 4096;

// A bucket of the histogram has the numbers that share a sign, an exponent and
// 7 bits of the fraction. Its number nearest to zero stands for all of them.
constexpr double kQuantileError = 0x1p-7;

// `min` and `max` are those of the finite elements. Returns false if there is
// no finite element, statistics are not defined for the view's dtype, or its
// shape is invalid.
//
// Exact for types of 8 and 16 bits, and for small tensors. Otherwise nearer to
// zero than the exact quantile by less than kQuantileError of it, and never
// beyond `min` and `max`; for denormal numbers, by less than kQuantileError of
// the smallest normal number. Zeros and integers up to 2^8 are therefore exact.
//
// One pass, without floating-point operations. Thread-safe. Allocates 0.5 MiB
// for float32, and 4 MiB for other types of more than 16 bits, unless the
// tensor is small; needs 48 KiB of stack.
bool ComputeQuantiles(const TensorView& view, double min, double max,
                      Quantiles* quantiles);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_QUANTILES_H_
