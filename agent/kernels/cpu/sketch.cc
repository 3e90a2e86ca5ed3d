#include "agent/kernels/cpu/sketch.h"

#include <algorithm>
#include <cmath>

#include "agent/kernels/cpu/scan.h"
#include "agent/kernels/cpu/sketch_simd.h"

namespace graphdbg::cpu {
namespace {

// Maximum error of one rounding in the type in which squares are computed:
// relative, and absolute in case of underflow.
struct Rounding {
  double relative;
  double absolute;
};

Rounding RoundingOf(DType dtype) {
  if (dtype == DType::kFloat64) return {0x1p-53, 0x1p-1074};
  return {0x1p-24, 0x1p-149};
}

// The error of a sum, relative to the sum of magnitudes, is at most the length
// of the chain of additions times the rounding error. Numbers within a block
// are added in the tensor's type, blocks in float64.
double ErrorOf(const Rounding& rounding, double n) {
  constexpr double kChain = kSketchBlock + 16;
  return kChain * rounding.relative + n * 0x1p-53;
}

Sketch ToSketch(DType dtype, const SketchSums& sums, int64_t distinct) {
  const double n = static_cast<double>(distinct);
  const double share = 1 / n;
  const Rounding rounding = RoundingOf(dtype);
  const double error = ErrorOf(rounding, n);
  Sketch sketch;
  sketch.min = sums.min;
  sketch.max = sums.max;
  const double square = sums.square_sum * share;
  sketch.square_mean.lo =
      std::max(square * (1 - error) - rounding.absolute, 0.0);
  sketch.square_mean.hi = square * (1 + error) + rounding.absolute;
  // The mean of |x| is at most the root of the mean square.
  const double off = error * std::sqrt(sketch.square_mean.hi);
  const double mean = sums.sum * share;
  sketch.mean = {std::max(mean - off, sums.min),
                 std::min(mean + off, sums.max)};
  return sketch;
}

}  // namespace

std::optional<bool> AllFinite(const TensorView& view) {
  if (!HasStatistics(view.dtype)) return std::nullopt;
  bool finite = true;
  const auto scanned = Scan(view, [&](const char* p, size_t n) {
    finite = RunIsFinite(view.dtype, p, n);
    return finite;
  });
  if (!scanned) return std::nullopt;
  return finite;
}

bool IsSmallAndFinite(const TensorView& view, int64_t max_bytes) {
  if (!HasStatistics(view.dtype) || view.ndim > kMaxDimensions) return false;
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  const int64_t limit = max_bytes / item_size;
  // The position behind the last element.
  int64_t end = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    const int64_t size = view.shape[d];
    if (size == 1) continue;
    if (size == 0) return true;
    // Row by row, the position is the number of elements so far.
    const int64_t stride = view.strides == nullptr ? end : view.strides[d];
    // Nothing overflows, because each factor is within the limit.
    if (size < 0 || stride < 0 || size > limit || stride > limit) return false;
    end += (size - 1) * stride;
    if (end > limit) return false;
  }
  return RunIsFinite(view.dtype, view.data, static_cast<size_t>(end));
}

std::optional<Sketch> ComputeSketch(const TensorView& view) {
  if (!IsFloating(view.dtype)) return std::nullopt;
  SketchSums sums;
  const auto scanned = Scan(view, [&](const char* p, size_t n) {
    SketchRun(view.dtype, p, n, &sums);
    return std::isfinite(sums.square_sum);
  });
  if (!scanned || scanned->count == 0 || !std::isfinite(sums.square_sum)) {
    return std::nullopt;
  }
  Sketch sketch = ToSketch(view.dtype, sums, scanned->count);
  sketch.count = static_cast<uint64_t>(scanned->count * scanned->multiplicity);
  return sketch;
}

}  // namespace graphdbg::cpu
