// A strided view of a tensor.
#ifndef AGENT_TENSOR_TENSOR_VIEW_H_
#define AGENT_TENSOR_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/tensor/dtype.h"

namespace graphdbg {

// Values of tensors with more dimensions are not read.
constexpr size_t kMaxDimensions = 64;

// Refers to memory that it does not own; copies are shallow. Strides are in
// elements and may be zero or negative; null means contiguous in row-major
// order.
struct TensorView {
  DType dtype = DType::kUnspecified;
  const void* data = nullptr;
  size_t ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;

  // Absent if the shape is invalid: negative sizes, too many dimensions, or
  // more elements than an int64 can count.
  std::optional<int64_t> element_count() const {
    if (ndim > kMaxDimensions) return std::nullopt;
    int64_t count = 1;
    bool empty = false;
    for (size_t i = 0; i < ndim; ++i) {
      if (shape[i] < 0) return std::nullopt;
      if (shape[i] == 0) {
        empty = true;
      } else if (__builtin_mul_overflow(count, shape[i], &count)) {
        return std::nullopt;
      }
    }
    return empty ? 0 : count;
  }
  // Number of elements times their size, regardless of strides. Absent if the
  // shape is invalid or the product overflows.
  std::optional<int64_t> byte_count() const;
  // Whether the elements are contiguous in row-major order. The shape must be
  // valid.
  bool row_major() const;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_TENSOR_VIEW_H_
