#include "agent/conditions/bounds.h"

#include <algorithm>
#include <cmath>

namespace graphdbg::conditions::bounds {
namespace {

Interval Exactly(double x) { return {x, x}; }

double N(const Sketch& s) { return static_cast<double>(s.count); }

double LargestSize(const Sketch& s) {
  return std::max(std::fabs(s.min), std::fabs(s.max));
}

// Widens computed bounds by a few rounding errors.
Interval Rounded(double lo, double hi) {
  constexpr double kRoundings = 0x1p-49;
  return {lo - kRoundings * std::fabs(lo), hi + kRoundings * std::fabs(hi)};
}

Interval Squared(const Interval& x) {
  const double a = x.lo * x.lo, b = x.hi * x.hi;
  const bool around_zero = x.lo < 0 && x.hi > 0;
  return {around_zero ? 0 : std::min(a, b), std::max(a, b)};
}

// The minimum number of nonzero elements, since no square exceeds the largest.
double LeastNonZero(const Sketch& s) {
  const double largest = LargestSize(s);
  return std::max(1.0, s.square_mean.lo / (largest * largest) * N(s));
}

}  // namespace

Interval Zero(const Sketch&) { return {0, 0}; }
Interval Count(const Sketch& s) { return Exactly(N(s)); }
Interval Min(const Sketch& s) { return Exactly(s.min); }
Interval Max(const Sketch& s) { return Exactly(s.max); }
Interval MaxMin(const Sketch& s) { return Exactly(s.max - s.min); }
Interval AbsMax(const Sketch& s) { return Exactly(LargestSize(s)); }
Interval Mean(const Sketch& s) { return Rounded(s.mean.lo, s.mean.hi); }

Interval Variance(const Sketch& s) {
  const Interval mean = Squared(s.mean);
  // The difference of two similar numbers may consist of rounding errors only.
  const double rounding = 0x1p-49 * s.square_mean.hi;
  return {std::max(0.0, s.square_mean.lo - mean.hi - rounding),
          s.square_mean.hi - mean.lo + rounding};
}

Interval Deviation(const Sketch& s) {
  const Interval variance = Variance(s);
  return Rounded(std::sqrt(variance.lo), std::sqrt(variance.hi));
}

// At least the absolute mean, and the mean square divided by the largest size;
// at most the root of the mean square.
Interval AbsMean(const Sketch& s) {
  const double largest = LargestSize(s);
  if (largest == 0) return Exactly(0);
  const double mean = std::max({s.mean.lo, -s.mean.hi, 0.0});
  return Rounded(std::max(mean, s.square_mean.lo / largest),
                 std::min(std::sqrt(s.square_mean.hi), largest));
}

Interval L1(const Sketch& s) {
  const Interval mean = AbsMean(s);
  return Rounded(mean.lo * N(s), mean.hi * N(s));
}

Interval L2(const Sketch& s) {
  const double root = std::sqrt(N(s));
  return Rounded(std::sqrt(s.square_mean.lo) * root,
                 std::sqrt(s.square_mean.hi) * root);
}

Interval ZeroCount(const Sketch& s) {
  if (s.min > 0 || s.max < 0) return Exactly(0);
  if (s.min == 0 && s.max == 0) return Exactly(N(s));
  return Rounded(0, N(s) - LeastNonZero(s));
}

Interval NegativeCount(const Sketch& s) {
  if (s.min >= 0) return Exactly(0);
  if (s.max < 0) return Exactly(N(s));
  return {1, N(s) - (s.max >= 0 ? 1 : 0)};
}

Interval PositiveCount(const Sketch& s) {
  if (s.max <= 0) return Exactly(0);
  if (s.min > 0) return Exactly(N(s));
  // The sum of the positive elements is at least the sum of all.
  return Rounded(std::max(1.0, s.mean.lo / s.max * N(s)), N(s) - 1);
}

Interval ZeroPercentage(const Sketch& s) {
  const Interval zeros = ZeroCount(s);
  if (zeros.lo == zeros.hi) return Exactly(100 * zeros.lo / N(s));
  return Rounded(100 * zeros.lo / N(s), 100 * zeros.hi / N(s));
}

Interval InactivePercentage(const Sketch& s) {
  const Interval active = PositiveCount(s);
  const double most = 100 * (N(s) - active.lo) / N(s);
  if (active.lo == active.hi) return Exactly(most);
  return Rounded(100 * (N(s) - active.hi) / N(s), most);
}

Interval InRange(double min, double max, double start, double end) {
  if (min >= start && max <= end) return Exactly(100);
  if (max < start || min > end) return Exactly(0);
  return {0, 100};
}

}  // namespace graphdbg::conditions::bounds
