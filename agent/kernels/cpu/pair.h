// Passes over pairs of elements and over ranges, compiled once for each
// instruction set and chosen at run time. Of float types alone; any alignment.
// Allocate nothing; any thread.
#ifndef AGENT_KERNELS_CPU_PAIR_H_
#define AGENT_KERNELS_CPU_PAIR_H_

#include <cstddef>
#include <cstdint>

#include "agent/kernels/statistics.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// Not finite if an element is not, or if a square leaves the range of float64.
struct PairSums {
  double change = 0;
  double change_squares = 0;
  double change_max = 0;
  double previous = 0;
  double previous_squares = 0;
};

PairSums SumPairs(DType dtype, const void* now, const void* previous, size_t n);

// Pairs that are close; false in `finite` if an element is not finite, where
// the count means nothing.
uint64_t CountClose(DType dtype, const void* now, const void* previous,
                    size_t n, const Tolerance& tolerance, bool* finite);

uint64_t CountWithin(DType dtype, const void* elements, size_t n, double start,
                     double end);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_PAIR_H_
