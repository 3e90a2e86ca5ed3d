// A complex tensor as one of real numbers: real and imaginary parts side by
// side, as one more dimension.
#ifndef AGENT_TENSOR_COMPLEX_PARTS_H_
#define AGENT_TENSOR_COMPLEX_PARTS_H_

#include <array>
#include <cstdint>

#include "agent/tensor/tensor_view.h"

namespace graphdbg {

class ComplexParts {
 public:
  // Whether the view is of complex numbers and can be seen so.
  static bool Apply(const TensorView& view) {
    return (view.dtype == DType::kComplex64 ||
            view.dtype == DType::kComplex128) &&
           view.ndim < kMaxDimensions && view.element_count().has_value();
  }

  // A view of the same memory, which points into this object. Apply(view).
  TensorView Of(const TensorView& view) {
    const size_t n = view.ndim;
    int64_t row_major = 1;
    shape_[n] = 2;
    strides_[n] = 1;
    for (size_t d = n; d-- > 0;) {
      shape_[d] = view.shape[d];
      strides_[d] = 2 * (view.strides ? view.strides[d] : row_major);
      row_major *= view.shape[d];
    }
    const bool single = view.dtype == DType::kComplex64;
    return {single ? DType::kFloat32 : DType::kFloat64, view.data, n + 1,
            shape_.data(), strides_.data()};
  }

 private:
  std::array<int64_t, kMaxDimensions> shape_;
  std::array<int64_t, kMaxDimensions> strides_;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_COMPLEX_PARTS_H_
