#include "agent/kernels/merge.h"

#include <algorithm>
#include <cmath>

namespace graphdbg {

Statistics Merged(const Statistics& a, const Statistics& b) {
  Statistics s = b.has_finite() ? b : a;
  if (a.has_finite() && b.has_finite()) {
    const long double n = static_cast<long double>(a.finite_count());
    const long double m = static_cast<long double>(b.finite_count());
    const long double distance = static_cast<long double>(b.mean) - a.mean;
    const long double share = m / (n + m);
    s.min = std::min(a.min, b.min);
    s.max = std::max(a.max, b.max);
    s.abs_max = std::max(a.abs_max, b.abs_max);
    s.mean = static_cast<double>(a.mean + distance * share);
    s.abs_mean = static_cast<double>(
        a.abs_mean +
        (static_cast<long double>(b.abs_mean) - a.abs_mean) * share);
    s.variance = static_cast<double>(
        (a.variance * n + b.variance * m + distance * distance * share * n) /
        (n + m));
    s.l1 = a.l1 + b.l1;
    s.l2 = std::hypot(a.l2, b.l2);
  }
  s.count = a.count + b.count;
  s.nan_count = a.nan_count + b.nan_count;
  s.pos_inf_count = a.pos_inf_count + b.pos_inf_count;
  s.neg_inf_count = a.neg_inf_count + b.neg_inf_count;
  s.zero_count = a.zero_count + b.zero_count;
  s.negative_count = a.negative_count + b.negative_count;
  s.positive_count = a.positive_count + b.positive_count;
  return s;
}

Statistics Repeated(const Statistics& once, uint64_t times) {
  Statistics s = once;
  for (uint64_t* count :
       {&s.count, &s.nan_count, &s.pos_inf_count, &s.neg_inf_count,
        &s.zero_count, &s.negative_count, &s.positive_count}) {
    *count *= times;
  }
  s.l1 *= static_cast<double>(times);
  s.l2 *= std::sqrt(static_cast<double>(times));
  return s;
}

}  // namespace graphdbg
