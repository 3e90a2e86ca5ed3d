// Element-wise comparison of two tensors of the same shape.
#ifndef SERVER_TENSOR_COMPARISON_H_
#define SERVER_TENSOR_COMPARISON_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/tensor/histogram.h"
#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// Two numbers at the same place. Real and imaginary parts are numbers of their
// own.
struct ComparedPair {
  // Row-major index of the element.
  uint64_t element = 0;
  double left = 0;
  double right = 0;
};

// Distances of floats of the same type, in units in the last place: the number
// of steps from one representable number to the next between the two.
struct UlpDistances {
  uint64_t max = 0;
  ComparedPair max_at;
  // Pairs by distance: 0, 1, 2 to 3, 4 to 7, 8 to 15, ... Ends with the last
  // count that is not 0.
  std::vector<uint64_t> counts;
};

// Numbers are close as in numpy.allclose with equal_nan: if
// |left - right| <= atol + rtol * |right|, or if both are NaN or the same
// infinity.
struct Comparison {
  // Numbers of elements. A complex element is equal or close if both of its
  // parts are. NaN equals NaN, and an infinity itself.
  uint64_t count = 0;
  uint64_t equal_count = 0;
  uint64_t not_close_count = 0;

  // Pairs in which at least one number is NaN or infinite, and those of them
  // that have NaN. The values below exclude these pairs, and are absent if no
  // other pairs exist.
  uint64_t non_finite_count = 0;
  uint64_t left_nan_count = 0;
  uint64_t right_nan_count = 0;
  uint64_t both_nan_count = 0;

  std::optional<double> max_abs_difference;
  ComparedPair max_abs_at;
  std::optional<double> mean_abs_difference;
  // Of left - right.
  std::optional<double> mean_difference;
  std::optional<double> rms_difference;
  // |left - right| / |right|, over pairs in which right is not 0.
  std::optional<double> max_relative_difference;
  ComparedPair max_relative_at;
  // Cosine of the angle between the tensors as vectors. Absent if one is 0.
  std::optional<double> cosine;
  // Over finite pairs. Absent if the types differ or are no floats.
  std::optional<UlpDistances> ulps;

  // The first elements that are not close; of a complex element, the first part
  // that differs.
  std::vector<ComparedPair> first_not_close;

  // Of left - right; the sides have theirs in their own histograms.
  FiniteRange difference_range;
};

// Compares tensors that come piece by piece.
class Comparer {
 public:
  // Keeps the first `max_listed` elements that are not close.
  Comparer(double rtol, double atol, uint64_t max_listed);

  // The next elements. INVALID_ARGUMENT "shapes_differ" if the numbers of
  // elements differ, or only one side is complex.
  absl::Status Add(const Numbers& left, const Numbers& right);
  Comparison Finish();

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  void AddPair(const ComparedPair& pair);
  void AddFinite(const ComparedPair& pair);
  void AddNonFinite(const ComparedPair& pair);
  void AddUlps(const ComparedPair& pair, int64_t left, int64_t right);
  bool IsClose(double left, double right) const;

  const double rtol_;
  const double atol_;
  const uint64_t max_listed_;
  Comparison result_;
  uint64_t unequal_count_ = 0;
  uint64_t last_unequal_ = kNone;
  uint64_t last_not_close_ = kNone;
  uint64_t finite_ = 0;
  double sum_ = 0;
  double sum_abs_ = 0;
  double sum_squares_ = 0;
  double max_abs_ = -1;
  double max_relative_ = -1;
  double dot_ = 0;
  double left_left_ = 0;
  double right_right_ = 0;
};

// Distance of two ordinals (see Numbers::ReadOrdinals).
inline uint64_t UlpDistance(int64_t left, int64_t right) {
  const auto [low, high] = std::minmax(left, right);
  return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
}

// INVALID_ARGUMENT "shapes_differ", as Comparer::Add.
absl::Status CheckComparable(const Numbers& left, const Numbers& right);

// Passes the pairs in which both numbers are finite to `pair`. The tensors must
// be comparable.
void ForEachFinitePair(const Numbers& left, const Numbers& right,
                       absl::FunctionRef<void(double, double)> pair);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_COMPARISON_H_
