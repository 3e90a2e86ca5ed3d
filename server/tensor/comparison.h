// Element-wise comparison of two tensors of the same shape.
#ifndef SERVER_TENSOR_COMPARISON_H_
#define SERVER_TENSOR_COMPARISON_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// Numbers are close as in numpy.allclose with equal_nan: if
// |left - right| <= atol + rtol * |right|, or if both are NaN or the same
// infinity.
struct Comparison {
  // Number of elements. A complex element is close if both of its parts are.
  uint64_t count = 0;
  uint64_t not_close_count = 0;
  // Pairs in which at least one number is NaN or infinite. The values below
  // exclude these pairs, and are absent if no other pairs exist.
  uint64_t non_finite_count = 0;
  std::optional<double> max_abs_difference;
  std::optional<double> mean_abs_difference;
  // |left - right| / |right|, over pairs in which right is not 0.
  std::optional<double> max_relative_difference;
  // Cosine of the angle between the tensors as vectors. Absent if one is 0.
  std::optional<double> cosine;
  // Row-major index of the first element that is not close.
  std::optional<uint64_t> first_not_close;
  // The numbers at that index; for complex elements, the part that differs.
  double first_left = 0;
  double first_right = 0;
};

// INVALID_ARGUMENT "shapes_differ" if the numbers of elements differ.
absl::StatusOr<Comparison> Compare(const Numbers& left, const Numbers& right,
                                   double rtol, double atol);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_COMPARISON_H_
