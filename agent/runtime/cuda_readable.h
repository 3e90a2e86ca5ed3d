// Checks whether GPU kernels can read a tensor.
#ifndef AGENT_RUNTIME_CUDA_READABLE_H_
#define AGENT_RUNTIME_CUDA_READABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "agent/tensor/dtype.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::runtime {

inline absl::Status Unmeasurable() {
  return absl::UnimplementedError(
      "statistics of this tensor's type or layout are not supported");
}

// A misaligned read on a GPU is an error that destroys the program's context.
inline bool IsAligned(const TensorView& view) {
  const size_t size = std::max<size_t>(ItemSize(view.dtype), 1);
  return reinterpret_cast<uintptr_t>(view.data) % size == 0;
}

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_READABLE_H_
