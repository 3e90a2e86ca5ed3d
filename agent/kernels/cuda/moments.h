// Mean, variance and absolute sum of one thread's finite elements, summed in
// float64.
#ifndef AGENT_KERNELS_CUDA_MOMENTS_H_
#define AGENT_KERNELS_CUDA_MOMENTS_H_

#include <cmath>
#include <cstdint>

#include "agent/kernels/cuda/merge.h"
#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

// For types of up to 16 bits. float64 represents their squares exactly and, if
// they are of similar magnitude, also the sums of squares, so that only the
// last subtraction has to be exact.
class Moments {
 public:
  // Adds 0 if `counts` is false.
  GRAPHDBG_PORTABLE void AddIf(bool counts, double value) {
    const double x = counts ? value : 0;
    sum_ += x;
    squares_ = fma(x, x, squares_);
    abs_sum_ += fabs(x);
  }

  // Fills mean, deviations and abs_sum; finite_count must not be 0.
  GRAPHDBG_PORTABLE void Finish(Partial* p) const {
    const auto n = static_cast<double>(p->finite_count);
    // sum * sum / n and its rounding error.
    const double square = sum_ * sum_;
    const double share = square / n;
    const double rest = (fma(-share, n, square) + fma(sum_, sum_, -square)) / n;
    const double deviations = (squares_ - share) - rest;
    p->mean = sum_ / n - p->origin;
    p->deviations = deviations > 0 ? deviations : 0;
    p->abs_sum = abs_sum_;
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  double abs_sum_ = 0;
};

// For wider types: sums distances from the first value. With `kScales`, also
// supports numbers whose squares exceed the range of float64.
template <bool kScales>
class DistanceMoments {
 public:
  GRAPHDBG_PORTABLE void AddIf(bool counts, double value) {
    double x = counts ? value : 0;
    if constexpr (kScales) x = Fit(x);
    if (counts && !started_) {
      shift_ = x;
      started_ = true;
    }
    const double distance = counts ? x - shift_ : 0;
    sum_ += distance;
    squares_ = fma(distance, distance, squares_);
    abs_sum_ += fabs(x);
  }

  GRAPHDBG_PORTABLE void Finish(Partial* p) const {
    const auto n = static_cast<double>(p->finite_count);
    const double deviations = squares_ - sum_ / n * sum_;
    p->scaled = scale_ != 1;
    p->mean = (shift_ - p->origin * scale_) + sum_ / n;
    // Rounding may make it slightly negative.
    p->deviations = deviations > 0 ? deviations : 0;
    p->abs_sum = abs_sum_;
  }

 private:
  // Returns the value to be summed: from the first large value on, all values
  // are scaled.
  GRAPHDBG_PORTABLE double Fit(double value) {
    if (scale_ == 1 && !(fabs(value) <= kLarge)) {
      scale_ = kScale;
      shift_ *= kScale;
      sum_ *= kScale;
      squares_ = squares_ * kScale * kScale;
      abs_sum_ *= kScale;
    }
    return value * scale_;
  }

  bool started_ = false;
  double scale_ = 1;
  double shift_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double abs_sum_ = 0;
};

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_MOMENTS_H_
