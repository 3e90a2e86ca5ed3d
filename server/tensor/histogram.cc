#include "server/tensor/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphdbg::tensor {
namespace {

struct Range {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  bool empty() const { return min > max; }
};

// Also counts the numbers that are not finite.
Range FiniteRange(const Numbers& numbers, Histogram& histogram) {
  Range range;
  ForEachChunk(numbers, [&](std::span<const double> chunk) {
    for (double x : chunk) {
      if (std::isfinite(x)) {
        range.min = std::min(range.min, x);
        range.max = std::max(range.max, x);
      } else if (std::isnan(x)) {
        ++histogram.nan_count;
      } else {
        ++(x > 0 ? histogram.pos_inf_count : histogram.neg_inf_count);
      }
    }
  });
  if (range.min == range.max) {
    range.min -= 0.5;
    range.max += 0.5;
  }
  // Above 2^53, adding a half has no effect.
  if (range.min == range.max) {
    range.min = std::nextafter(range.min, -INFINITY);
    range.max = std::nextafter(range.max, INFINITY);
  }
  return range;
}

// Computes with halves, because the width of the range may overflow float64.
std::vector<double> Edges(const Range& range, uint64_t bins) {
  const double half_width = range.max / 2 - range.min / 2;
  std::vector<double> edges(bins + 1);
  for (uint64_t i = 0; i <= bins; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(bins);
    edges[i] = range.min + half_width * share + half_width * share;
  }
  edges.back() = range.max;
  return edges;
}

}  // namespace

Histogram MakeHistogram(const Numbers& numbers, uint64_t bins) {
  Histogram histogram;
  const Range range = FiniteRange(numbers, histogram);
  if (range.empty()) return histogram;
  histogram.edges = Edges(range, bins);
  histogram.counts.resize(bins);
  const std::vector<double>& edges = histogram.edges;
  const double scale =
      static_cast<double>(bins) / (range.max / 2 - range.min / 2);
  ForEachChunk(numbers, [&](std::span<const double> chunk) {
    for (double x : chunk) {
      if (!std::isfinite(x)) continue;
      const double at = (x / 2 - range.min / 2) * scale;
      uint64_t bin = at < static_cast<double>(bins)
                         ? static_cast<uint64_t>(std::max(at, 0.0))
                         : bins - 1;
      // Rounding may select an adjacent bin.
      while (bin > 0 && x < edges[bin]) --bin;
      while (bin + 1 < bins && x >= edges[bin + 1]) ++bin;
      ++histogram.counts[bin];
    }
  });
  return histogram;
}

}  // namespace graphdbg::tensor
