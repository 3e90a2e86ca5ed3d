// Two tensors of one shape, element by element.
#ifndef SERVER_TENSOR_COMPARISON_H_
#define SERVER_TENSOR_COMPARISON_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// Two numbers are close as numpy.allclose has it, with equal_nan:
// |left - right| <= atol + rtol * |right|, or both NaN, or the same infinity.
struct Comparison {
  // Elements; a complex one is close if both of its parts are.
  uint64_t count = 0;
  uint64_t not_close_count = 0;
  // Pairs of which one or both are NaN or infinite. They take no part in what
  // follows, which is absent if no pair is left.
  uint64_t non_finite_count = 0;
  std::optional<double> max_abs_difference;
  std::optional<double> mean_abs_difference;
  // |left - right| / |right|, over pairs whose right is not 0.
  std::optional<double> max_relative_difference;
  // Of both as vectors; absent if one of them is 0.
  std::optional<double> cosine;
  // Where the first pair that is not close lies in row-major order.
  std::optional<uint64_t> first_not_close;
  // Of that pair; a complex number's part that is not close.
  double first_left = 0;
  double first_right = 0;
};

// INVALID_ARGUMENT "shapes_differ" if there are not equally many of both.
absl::StatusOr<Comparison> Compare(const Numbers& left, const Numbers& right,
                                   double rtol, double atol);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_COMPARISON_H_
