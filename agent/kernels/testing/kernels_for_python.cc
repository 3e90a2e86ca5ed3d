// Functions that agent/python/tests/test_kernels.py calls through ctypes.
#include <cstdint>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/pairs.h"
#include "agent/kernels/cpu/quantiles.h"
#include "agent/kernels/cpu/sketch.h"

using graphdbg::DType;
using graphdbg::TensorView;

extern "C" {

struct View {
  int32_t dtype;
  const void* data;
  uint64_t ndim;
  const int64_t* shape;
  const int64_t* strides;
};

}  // extern "C"

namespace {

TensorView ToView(const View& view) {
  return {static_cast<DType>(view.dtype), view.data, view.ndim, view.shape,
          view.strides};
}

double Count(uint64_t n) { return static_cast<double>(n); }

}  // namespace

extern "C" {

// Writes 15 numbers in the order of the struct's fields. Returns 0 if the
// tensor has no statistics.
int measure(const View* view, double* out) {
  graphdbg::Statistics s;
  if (!graphdbg::cpu::ComputeStatistics(ToView(*view), &s)) return 0;
  for (double x :
       {Count(s.count), Count(s.nan_count), Count(s.pos_inf_count),
        Count(s.neg_inf_count), Count(s.zero_count), Count(s.negative_count),
        Count(s.positive_count), s.min, s.max, s.mean, s.abs_mean, s.abs_max,
        s.variance, s.l1, s.l2}) {
    *out++ = x;
  }
  return 1;
}

// Writes the quantiles in the order of Quantiles::kPercents. Returns 0 if there
// are none.
int quantiles(const View* view, double* out) {
  graphdbg::Statistics s;
  graphdbg::Quantiles q;
  if (!graphdbg::cpu::ComputeStatistics(ToView(*view), &s) ||
      !graphdbg::cpu::ComputeQuantiles(ToView(*view), s.min, s.max, &q)) {
    return 0;
  }
  for (double x : q.values) *out++ = x;
  return 1;
}

int all_finite(const View* view) {
  return graphdbg::cpu::AllFinite(ToView(*view)).value_or(false) ? 1 : 0;
}

int compare(const View* now, const View* previous, double* out) {
  graphdbg::PairStatistics s;
  if (!graphdbg::cpu::ComparePair(ToView(*now), ToView(*previous), &s)) {
    return 0;
  }
  for (double x :
       {Count(s.count), Count(s.finite_count), s.change_abs_mean,
        s.change_abs_max, s.change_l2, s.previous_abs_mean, s.previous_l2}) {
    *out++ = x;
  }
  return 1;
}

int64_t count_changed(const View* now, const View* previous, double rtol,
                      double atol, int equal_nan) {
  const auto changed = graphdbg::cpu::CountChanged(
      ToView(*now), ToView(*previous), {rtol, atol, equal_nan != 0});
  return changed ? static_cast<int64_t>(*changed) : -1;
}

int64_t count_in_range(const View* view, double start, double end) {
  const auto within = graphdbg::cpu::CountInRange(ToView(*view), start, end);
  return within ? static_cast<int64_t>(*within) : -1;
}

}  // extern "C"
