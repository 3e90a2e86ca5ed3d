// Light passes over elements side by side, compiled once for each instruction
// set and chosen at run time.
#ifndef AGENT_KERNELS_CPU_LIGHT_H_
#define AGENT_KERNELS_CPU_LIGHT_H_

#include <cstddef>
#include <limits>

#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// Of float types alone; any alignment, n >= 1. Allocate nothing; any thread.
bool RunIsFinite(DType dtype, const void* elements, size_t n);

struct SketchSums {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  // Not finite if an element is not, or if its square is out of range.
  double sum = 0;
  double square_sum = 0;
};

// So many numbers of a lane are summed in the elements' precision, or in
// float32, before they go to a float64.
constexpr size_t kSketchBlock = 64;

// Adds a run.
void SketchRun(DType dtype, const void* elements, size_t n, SketchSums* sums);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_LIGHT_H_
