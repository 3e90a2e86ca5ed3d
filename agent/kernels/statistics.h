// Statistics of a tensor, and of a tensor compared with its value one step
// earlier, as defined throughout graphdbg.
#ifndef AGENT_KERNELS_STATISTICS_H_
#define AGENT_KERNELS_STATISTICS_H_

#include <cstdint>
#include <initializer_list>

namespace graphdbg {

// Counts are over all elements. The values from min to l2 are over the finite
// elements, accumulated in float64, and undefined if finite_count() is 0.
struct Statistics {
  uint64_t count = 0;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t neg_inf_count = 0;
  // Elements equal to zero, of either sign.
  uint64_t zero_count = 0;
  // Finite elements below and above zero.
  uint64_t negative_count = 0;
  uint64_t positive_count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double abs_mean = 0;
  double abs_max = 0;
  // Population variance.
  double variance = 0;
  // Entry-wise norms.
  double l1 = 0;
  double l2 = 0;

  uint64_t inf_count() const { return pos_inf_count + neg_inf_count; }
  // From 0 to 1.
  double inf_share() const {
    return count == 0
               ? 0
               : static_cast<double>(inf_count()) / static_cast<double>(count);
  }
  uint64_t finite_count() const { return count - nan_count - inf_count(); }
  bool has_finite() const { return finite_count() > 0; }

  // Converts to the statistics of all elements divided by `factor`, which must
  // be positive.
  void DivideBy(double factor) {
    for (double* value : {&min, &max, &mean, &abs_mean, &abs_max, &l1, &l2}) {
      *value /= factor;
    }
    variance /= factor * factor;
  }
};

// An elementwise comparison of a tensor with its previous value, in float64.
// The values are over the pairs whose elements are both finite, and undefined
// if finite_count is 0; change is now - previous.
struct PairStatistics {
  uint64_t count = 0;
  uint64_t finite_count = 0;
  double change_abs_mean = 0;
  double change_abs_max = 0;
  double change_l2 = 0;
  double previous_abs_mean = 0;
  double previous_l2 = 0;

  // Converts to the statistics of both tensors divided by `factor`.
  void DivideBy(double factor) {
    for (double* value : {&change_abs_mean, &change_abs_max, &change_l2,
                          &previous_abs_mean, &previous_l2}) {
      *value /= factor;
    }
  }
};

// Elements are close under the same rule as in numpy.isclose(now, previous):
// |now - previous| <= atol + rtol * |previous|. Infinities are close if they
// have the same sign, NaNs only with equal_nan.
struct Tolerance {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;

  bool operator==(const Tolerance& other) const {
    return rtol == other.rtol && atol == other.atol &&
           equal_nan == other.equal_nan;
  }
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_STATISTICS_H_
