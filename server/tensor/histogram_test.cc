#include "server/tensor/histogram.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <numeric>

namespace graphdbg::tensor {
namespace {

Histogram Of(const std::vector<double>& values, uint64_t bins) {
  const auto numbers = [&](size_t first, size_t end) {
    const std::string_view bytes(
        reinterpret_cast<const char*>(values.data() + first),
        (end - first) * sizeof(double));
    return *Numbers::Of({DType::kFloat64, {}}, bytes);
  };
  // In two pieces.
  const size_t half = values.size() / 2;
  FiniteRange range;
  range.Add(numbers(0, half));
  range.Add(numbers(half, values.size()));
  HistogramCounter counter(range, bins);
  counter.Add(numbers(0, half));
  counter.Add(numbers(half, values.size()));
  return counter.histogram();
}

uint64_t Sum(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

TEST(HistogramTest, BinsAreHalfOpenButTheLast) {
  // numpy.histogram([0, 1, 1, 2, 3, 4], 4)
  const Histogram h = Of({0, 1, 1, 2, 3, 4}, 4);
  EXPECT_EQ(h.edges, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(h.counts, (std::vector<uint64_t>{1, 2, 1, 2}));
}

TEST(HistogramTest, NumbersAtEdgesThatRoundAreInTheRightBin) {
  std::vector<double> values;
  for (int i = 0; i <= 1000; ++i) values.push_back(i * 0.1);
  const Histogram h = Of(values, 1000);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bin =
        std::upper_bound(h.edges.begin(), h.edges.end() - 1, values[i]) - 1;
    EXPECT_GT(h.counts[std::min<size_t>(bin - h.edges.begin(), 999)], 0u);
  }
  EXPECT_EQ(Sum(h.counts), values.size());
}

TEST(HistogramTest, WhatIsNotFiniteIsCountedApart) {
  const Histogram h = Of({NAN, 1, INFINITY, -INFINITY, INFINITY, 2}, 2);
  EXPECT_EQ(h.nan_count, 1u);
  EXPECT_EQ(h.pos_inf_count, 2u);
  EXPECT_EQ(h.neg_inf_count, 1u);
  EXPECT_EQ(h.counts, (std::vector<uint64_t>{1, 1}));
  EXPECT_EQ(h.edges, (std::vector<double>{1, 1.5, 2}));
}

TEST(HistogramTest, NothingFiniteHasNoBins) {
  for (const Histogram& h : {Of({}, 3), Of({NAN, NAN}, 3)}) {
    EXPECT_TRUE(h.edges.empty());
    EXPECT_TRUE(h.counts.empty());
  }
}

TEST(HistogramTest, OneValueHasARangeAroundIt) {
  const Histogram h = Of({3, 3}, 2);
  EXPECT_EQ(h.edges, (std::vector<double>{2.5, 3, 3.5}));
  EXPECT_EQ(h.counts, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(Sum(Of({0x1p60, 0x1p60}, 2).counts), 2u);
}

TEST(HistogramTest, TheWidestRangeIsNoInfinity) {
  const Histogram h = Of({-DBL_MAX, 0, DBL_MAX}, 4);
  EXPECT_EQ(h.counts, (std::vector<uint64_t>{1, 0, 1, 1}));
  for (double edge : h.edges) EXPECT_TRUE(std::isfinite(edge));
  EXPECT_EQ(Sum(Of({0, 5e-324}, 3).counts), 2u);
}

}  // namespace
}  // namespace graphdbg::tensor
