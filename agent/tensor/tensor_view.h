// A strided view of a tensor that somebody else owns.
#ifndef AGENT_TENSOR_TENSOR_VIEW_H_
#define AGENT_TENSOR_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/tensor/dtype.h"

namespace graphdbg {

// Tensors of more dimensions are not looked into.
constexpr size_t kMaxDimensions = 64;

// Points to memory of its owner; copies are shallow. Strides are in elements
// and may be zero or negative; null: row major, contiguous.
struct TensorView {
  DType dtype = DType::kUnspecified;
  const void* data = nullptr;
  size_t ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;

  // Absent if the shape is not one: negative sizes, too many dimensions, more
  // elements or bytes than an int64 counts.
  std::optional<int64_t> element_count() const;
  // Elements times their size, whatever the strides; absent as above.
  std::optional<int64_t> byte_count() const;
  // Whether the elements lie side by side in row-major order. The shape must be
  // one.
  bool row_major() const;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_TENSOR_VIEW_H_
