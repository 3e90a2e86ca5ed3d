// Sums of one thread over pairs of current and previous elements.
#ifndef AGENT_KERNELS_CUDA_PAIR_SUMS_H_
#define AGENT_KERNELS_CUDA_PAIR_SUMS_H_

#include <cmath>

#include "agent/kernels/cuda/merge.h"
#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

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

#endif  // AGENT_KERNELS_CUDA_PAIR_SUMS_H_
