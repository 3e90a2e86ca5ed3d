#include "server/tensor/histogram.h"

namespace graphdbg::tensor {
namespace {

FiniteRange Widened(FiniteRange range) {
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
std::vector<double> Edges(const FiniteRange& range, uint64_t bins) {
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

void FiniteRange::Add(const Numbers& numbers) {
  ForEachChunk(numbers, [&](std::span<const double> chunk) {
    for (double number : chunk) Add(number);
  });
}

HistogramCounter::HistogramCounter(FiniteRange range, uint64_t bins) {
  if (range.empty()) return;
  range_ = Widened(range);
  scale_ = static_cast<double>(bins) / (range_.max / 2 - range_.min / 2);
  histogram_.edges = Edges(range_, bins);
  histogram_.counts.resize(bins);
}

void HistogramCounter::Add(double number) {
  if (std::isnan(number)) {
    ++histogram_.nan_count;
  } else if (std::isinf(number)) {
    ++(number > 0 ? histogram_.pos_inf_count : histogram_.neg_inf_count);
  } else {
    const std::vector<double>& edges = histogram_.edges;
    const uint64_t bins = histogram_.counts.size();
    const double at = (number / 2 - range_.min / 2) * scale_;
    uint64_t bin = at < static_cast<double>(bins)
                       ? static_cast<uint64_t>(std::max(at, 0.0))
                       : bins - 1;
    // Rounding may select an adjacent bin.
    while (bin > 0 && number < edges[bin]) --bin;
    while (bin + 1 < bins && number >= edges[bin + 1]) ++bin;
    ++histogram_.counts[bin];
  }
}

void HistogramCounter::Add(const Numbers& numbers) {
  ForEachChunk(numbers, [&](std::span<const double> chunk) {
    for (double number : chunk) Add(number);
  });
}

}  // namespace graphdbg::tensor
