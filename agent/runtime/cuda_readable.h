// What a GPU's kernels can read.
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
  return absl::UnimplementedError("a tensor of this kind cannot be measured");
}

// A GPU reads only what is aligned as its type, and otherwise ends the
// program's context.
inline bool IsAligned(const TensorView& view) {
  const size_t size = std::max<size_t>(ItemSize(view.dtype), 1);
  return reinterpret_cast<uintptr_t>(view.data) % size == 0;
}

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_READABLE_H_
