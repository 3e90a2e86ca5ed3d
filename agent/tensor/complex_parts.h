// Views a complex tensor as a real one with an additional innermost dimension
// of size 2: real and imaginary part.
#ifndef AGENT_TENSOR_COMPLEX_PARTS_H_
#define AGENT_TENSOR_COMPLEX_PARTS_H_

#include <array>
#include <cstdint>

#include "agent/tensor/tensor_view.h"

namespace graphdbg {

class ComplexParts {
 public:
  // Whether the view is complex and can be converted.
  static bool IsApplicable(const TensorView& view) {
    return (view.dtype == DType::kComplex64 ||
            view.dtype == DType::kComplex128) &&
           view.ndim < kMaxDimensions && view.element_count().has_value();
  }

  // A real view of the same memory. Points into this object. Requires
  // IsApplicable(view).
  TensorView AsReal(const TensorView& view) {
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
