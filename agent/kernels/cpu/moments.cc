#include "agent/kernels/cpu/moments.h"

#include <algorithm>
#include <cmath>

namespace graphdbg::cpu {

bool ChunkSums::overflowed() const {
  return !std::isfinite(sum) || !std::isfinite(square_sum) ||
         !std::isfinite(abs_sum);
}

bool ChunkSums::cancels() const {
  const double n = static_cast<double>(finite_count);
  return finite_count > 0 && sum / n * sum > 0.9 * square_sum;
}

void Moments::Merge(const ChunkSums& chunk) {
  totals_.count += chunk.count;
  totals_.finite_count += chunk.finite_count;
  totals_.nan_count += chunk.nan_count;
  totals_.pos_inf_count += chunk.pos_inf_count;
  totals_.zero_count += chunk.zero_count;
  totals_.negative_count += chunk.negative_count;
  totals_.min = std::min(totals_.min, chunk.min);
  totals_.max = std::max(totals_.max, chunk.max);
  if (chunk.finite_count == 0) return;
  const long double n = static_cast<long double>(chunk.finite_count);
  const long double sum = chunk.sum;
  // Rounding may make it slightly negative.
  const long double deviations =
      std::max(chunk.square_sum - sum * sum / n, 0.0L);
  if (n_ == 0) origin_ = chunk.shift;
  MergeSums(chunk.finite_count, (chunk.shift - origin_) + sum / n, deviations,
            chunk.abs_sum);
}

void Moments::MergeValue(double value) {
  ChunkSums one;
  one.count = 1;
  one.nan_count = std::isnan(value);
  one.pos_inf_count = std::isinf(value) && value > 0;
  if (std::isfinite(value)) {
    one.finite_count = 1;
    one.zero_count = value == 0;
    one.negative_count = value < 0;
    one.min = one.max = one.shift = value;
    one.abs_sum = std::fabs(value);
  }
  Merge(one);
}

// Chan's formula for the moments of a union.
void Moments::MergeSums(uint64_t n, long double mean, long double deviations,
                        long double abs_sum) {
  const long double total = static_cast<long double>(n_ + n);
  const long double distance = mean - mean_;
  const long double share = static_cast<long double>(n) / total;
  deviations_ +=
      deviations + distance * distance * share * static_cast<long double>(n_);
  mean_ += distance * share;
  abs_sum_ += abs_sum;
  n_ += n;
}

Statistics Moments::Finish(uint64_t multiplicity) const {
  Statistics s;
  const uint64_t neg_inf = totals_.count - totals_.finite_count -
                           totals_.nan_count - totals_.pos_inf_count;
  const uint64_t positive =
      totals_.finite_count - totals_.zero_count - totals_.negative_count;
  s.count = totals_.count * multiplicity;
  s.nan_count = totals_.nan_count * multiplicity;
  s.pos_inf_count = totals_.pos_inf_count * multiplicity;
  s.neg_inf_count = neg_inf * multiplicity;
  s.zero_count = totals_.zero_count * multiplicity;
  s.negative_count = totals_.negative_count * multiplicity;
  s.positive_count = positive * multiplicity;
  if (n_ == 0) return s;
  const long double n = static_cast<long double>(n_);
  const long double times = static_cast<long double>(multiplicity);
  s.min = totals_.min;
  s.max = totals_.max;
  const long double mean = origin_ + mean_;
  s.mean = static_cast<double>(mean);
  s.abs_mean = static_cast<double>(abs_sum_ / n);
  s.abs_max = std::max(std::fabs(totals_.min), std::fabs(totals_.max));
  s.variance = static_cast<double>(deviations_ / n);
  s.l1 = static_cast<double>(abs_sum_ * times);
  s.l2 =
      static_cast<double>(std::sqrt((deviations_ + n * mean * mean) * times));
  return s;
}

}  // namespace graphdbg::cpu
