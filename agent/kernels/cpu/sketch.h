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

// Whether the tensor's elements, and what lies between them in memory, contain
// neither NaN nor infinity. Looks at no more than `max_bytes`: false if there
// are more, or if the shape is unusual. Faster than AllFinite() for small
// tensors, and does not depend on the order of their dimensions.
bool IsSmallAndFinite(const TensorView& view, int64_t max_bytes);

// Absent if the tensor is empty or not of a floating-point type, if an element
// is not finite, and if a square exceeds the range of the type.
std::optional<Sketch> ComputeSketch(const TensorView& view);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_SKETCH_H_
