// SIMD passes over contiguous elements for sketches, compiled once per
// instruction set and selected at run time.
#ifndef AGENT_KERNELS_CPU_SKETCH_SIMD_H_
#define AGENT_KERNELS_CPU_SKETCH_SIMD_H_

#include <cstddef>
#include <limits>

#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// For floating-point types only; any alignment, n >= 1. Thread-safe; do not
// allocate.
bool RunIsFinite(DType dtype, const void* elements, size_t n);

struct SketchSums {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  // Not finite if an element is not finite or its square is out of range.
  double sum = 0;
  double square_sum = 0;
};

// Numbers of a lane that are summed in float32 (float64 for float64 tensors)
// before the sum is added to a float64.
constexpr size_t kSketchBlock = 64;

// Adds a run of elements to `sums`.
void SketchRun(DType dtype, const void* elements, size_t n, SketchSums* sums);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_SKETCH_SIMD_H_
