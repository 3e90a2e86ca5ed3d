// SIMD passes over contiguous elements for comparisons and ranges, compiled
// once per instruction set and selected at run time. For floating-point types
// only; any alignment. Thread-safe; do not allocate.
#ifndef AGENT_KERNELS_CPU_PAIRS_SIMD_H_
#define AGENT_KERNELS_CPU_PAIRS_SIMD_H_

#include <cstddef>
#include <cstdint>

#include "agent/kernels/statistics.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// Not finite if an element is not finite or a square exceeds the range of
// float64.
struct PairSums {
  double change = 0;
  double change_squares = 0;
  double change_max = 0;
  double previous = 0;
  double previous_squares = 0;
};

PairSums SumPairs(DType dtype, const void* now, const void* previous, size_t n);

// Counts pairs that are close. If an element is not finite, sets `finite` to
// false and the result is undefined.
uint64_t CountClose(DType dtype, const void* now, const void* previous,
                    size_t n, const Tolerance& tolerance, bool* finite);

uint64_t CountWithin(DType dtype, const void* elements, size_t n, double start,
                     double end);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_PAIRS_SIMD_H_
