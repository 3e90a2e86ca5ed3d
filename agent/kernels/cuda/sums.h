// What one thread adds up over its elements, and how sums are merged. The same
// code runs on a GPU and, in tests, on the processor.
#ifndef AGENT_KERNELS_CUDA_SUMS_H_
#define AGENT_KERNELS_CUDA_SUMS_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "agent/kernels/cuda/element.h"
#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

// Numbers beyond kLarge are summed times kScale, so that neither their squares
// nor sums of these leave the range of float64: 2^480 and 2^-600.
constexpr double kLarge = 0x1p480;
constexpr double kScale = 0x1p-600;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

GRAPHDBG_PORTABLE Partial EmptyPartial(double origin) {
  Partial p = {};
  p.min = kInfinity;
  p.max = -kInfinity;
  p.origin = origin;
  return p;
}

GRAPHDBG_PORTABLE void ScaleDown(Partial* p) {
  if (p->scaled) return;
  p->mean *= kScale;
  p->deviations = p->deviations * kScale * kScale;
  p->abs_sum *= kScale;
  p->scaled = 1;
}

// Chan's formula for the moments of a union.
GRAPHDBG_PORTABLE void Merge(Partial* into, Partial from) {
  into->nan_count += from.nan_count;
  into->pos_inf_count += from.pos_inf_count;
  into->neg_inf_count += from.neg_inf_count;
  into->in_range_count += from.in_range_count;
  if (from.finite_count == 0) return;
  if (from.scaled) ScaleDown(into);
  if (into->scaled) ScaleDown(&from);
  const double n = static_cast<double>(from.finite_count);
  const double total = static_cast<double>(into->finite_count) + n;
  const double distance = from.mean - into->mean;
  const double share = n / total;
  into->deviations +=
      from.deviations +
      distance * distance * share * static_cast<double>(into->finite_count);
  into->mean += distance * share;
  into->abs_sum += from.abs_sum;
  into->finite_count += from.finite_count;
  into->zero_count += from.zero_count;
  into->negative_count += from.negative_count;
  if (from.min < into->min) into->min = from.min;
  if (from.max > into->max) into->max = from.max;
}

// The sums of one thread. Counts are of 32 bits: no thread sees more elements.
template <class Element>
class Sums {
 public:
  using Raw = typename Element::Raw;
  using Order = typename Element::Order;

  GRAPHDBG_PORTABLE explicit Sums(double origin) : origin_(origin) {}

  GRAPHDBG_PORTABLE void Add(Raw raw) {
    if (Element::IsFinite(raw)) return AddFinite(raw);
    const Order x = Element::Value(raw);
    if (x != x) {
      ++nan_;
    } else if (x > 0) {
      ++pos_inf_;
    } else {
      ++neg_inf_;
    }
  }

  GRAPHDBG_PORTABLE void AddFinite(Raw raw) {
    const Order x = Element::Value(raw);
    if (x < min_) min_ = x;
    if (x > max_) max_ = x;
    zero_ += x == 0 ? 1 : 0;
    negative_ += x < 0 ? 1 : 0;
    double value = static_cast<double>(x);
    if constexpr (sizeof(Raw) == 8 && Element::kFloating) value = Fit(value);
    if (finite_++ == 0) shift_ = value;
    const double distance = value - shift_;
    sum_ += distance;
    squares_ = fma(distance, distance, squares_);
    abs_sum_ += fabs(value);
  }

  GRAPHDBG_PORTABLE void AddInRange(Raw raw, double start, double end) {
    const double x = static_cast<double>(Element::Value(raw));
    in_range_ += x >= start && x <= end ? 1 : 0;
  }

  GRAPHDBG_PORTABLE Partial Finish() const {
    Partial p = EmptyPartial(origin_);
    p.nan_count = nan_;
    p.pos_inf_count = pos_inf_;
    p.neg_inf_count = neg_inf_;
    p.in_range_count = in_range_;
    if (finite_ == 0) return p;
    const double n = finite_;
    const double deviations = squares_ - sum_ / n * sum_;
    p.finite_count = finite_;
    p.zero_count = zero_;
    p.negative_count = negative_;
    p.min = static_cast<double>(min_);
    p.max = static_cast<double>(max_);
    p.scaled = scale_ != 1;
    p.mean = (shift_ - origin_ * scale_) + sum_ / n;
    // Rounding may take it a little below zero.
    p.deviations = deviations > 0 ? deviations : 0;
    p.abs_sum = abs_sum_;
    return p;
  }

 private:
  // The value as it is summed. From the first large one on, all are scaled.
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

  const double origin_;
  double scale_ = 1;
  // The thread's first finite element; sums are of the distances to it.
  double shift_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double abs_sum_ = 0;
  Order min_ = static_cast<Order>(kInfinity);
  Order max_ = static_cast<Order>(-kInfinity);
  uint32_t finite_ = 0;
  uint32_t zero_ = 0;
  uint32_t negative_ = 0;
  uint32_t nan_ = 0;
  uint32_t pos_inf_ = 0;
  uint32_t neg_inf_ = 0;
  uint32_t in_range_ = 0;
};

GRAPHDBG_PORTABLE void ScaleDown(PairPartial* p) {
  if (p->scaled) return;
  p->change_abs_sum *= kScale;
  p->change_squares = p->change_squares * kScale * kScale;
  p->previous_abs_sum *= kScale;
  p->previous_squares = p->previous_squares * kScale * kScale;
  p->scaled = 1;
}

GRAPHDBG_PORTABLE void Merge(PairPartial* into, PairPartial from) {
  if (from.scaled) ScaleDown(into);
  if (into->scaled) ScaleDown(&from);
  into->count += from.count;
  into->finite_count += from.finite_count;
  into->changed_count += from.changed_count;
  into->change_abs_sum += from.change_abs_sum;
  into->change_squares += from.change_squares;
  into->previous_abs_sum += from.previous_abs_sum;
  into->previous_squares += from.previous_squares;
  if (from.change_abs_max > into->change_abs_max) {
    into->change_abs_max = from.change_abs_max;
  }
}

GRAPHDBG_PORTABLE bool IsFinite(double x) {
  return fabs(x) <= 0x1.fffffffffffffp1023;
}

GRAPHDBG_PORTABLE bool IsClose(double now, double previous, double rtol,
                               double atol, bool equal_nan) {
  if (now != now || previous != previous) {
    return equal_nan && now != now && previous != previous;
  }
  if (!IsFinite(now) || !IsFinite(previous)) return now == previous;
  return fabs(now - previous) <= atol + rtol * fabs(previous);
}

// Adds one pair.
GRAPHDBG_PORTABLE void AddPair(double now, double previous,
                               const PairItem& item, PairPartial* sums) {
  ++sums->count;
  if (!IsClose(now, previous, item.rtol, item.atol, item.equal_nan != 0)) {
    ++sums->changed_count;
  }
  if (!IsFinite(now) || !IsFinite(previous)) return;
  ++sums->finite_count;
  double change = fabs(now - previous);
  double old = fabs(previous);
  if (change > sums->change_abs_max) sums->change_abs_max = change;
  if (!(change <= kLarge) || old > kLarge) ScaleDown(sums);
  if (sums->scaled) {
    change *= kScale;
    old *= kScale;
  }
  sums->change_abs_sum += change;
  sums->change_squares = fma(change, change, sums->change_squares);
  sums->previous_abs_sum += old;
  sums->previous_squares = fma(old, old, sums->previous_squares);
}

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_SUMS_H_
