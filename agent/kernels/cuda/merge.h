// Merges the sums of threads. The same code runs on a GPU and, in tests, on the
// CPU.
#ifndef AGENT_KERNELS_CUDA_MERGE_H_
#define AGENT_KERNELS_CUDA_MERGE_H_

#include <limits>

#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

// Sums that contain numbers beyond kLarge are scaled by kScale, so that neither
// squares nor sums of squares exceed the range of float64.
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

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_MERGE_H_
