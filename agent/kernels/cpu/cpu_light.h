// What can be told of a tensor in host memory at the speed at which it is
// read.
#ifndef AGENT_KERNELS_CPU_CPU_LIGHT_H_
#define AGENT_KERNELS_CPU_CPU_LIGHT_H_

#include <optional>

#include "agent/kernels/sketch.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Whether there is no NaN and no infinity. Absent where ComputeStatistics gives
// false. Allocates nothing; any thread; as ComputeSketch.
std::optional<bool> AllFinite(const TensorView& view);

// Absent for types that are no floats, where there is no element, where one is
// not finite, and where squares leave the range of the type.
std::optional<Sketch> ComputeSketch(const TensorView& view);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CPU_LIGHT_H_
