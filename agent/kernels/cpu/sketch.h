// Passes over a tensor in host memory that run at the speed of memory.
#ifndef AGENT_KERNELS_CPU_SKETCH_H_
#define AGENT_KERNELS_CPU_SKETCH_H_

#include <optional>

#include "agent/kernels/sketch.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Whether the tensor contains neither NaN nor infinity. Absent if
// ComputeStatistics() would return false. Like ComputeSketch(), thread-safe
// and does not allocate.
std::optional<bool> AllFinite(const TensorView& view);

// Absent if the tensor is empty or not of a floating-point type, if an element
// is not finite, and if a square exceeds the range of the type.
std::optional<Sketch> ComputeSketch(const TensorView& view);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_SKETCH_H_
