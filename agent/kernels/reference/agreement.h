// Shared requirements on all implementations of the statistics: agreement with
// the reference on numerically difficult values.
#ifndef AGENT_KERNELS_REFERENCE_AGREEMENT_H_
#define AGENT_KERNELS_REFERENCE_AGREEMENT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "agent/kernels/statistics.h"
#include "agent/tensor/dtype.h"
#include "gtest/gtest.h"

namespace graphdbg::reference {

// Compares relative to `scale`, the largest magnitude involved. The tolerance
// allows for sums of up to 4,096 float64 numbers.
inline void ExpectClose(double actual, double expected, double scale,
                        const char* what) {
  constexpr double kTolerance = 1e-12;
  if (actual == expected) return;
  // Squares of smaller numbers underflow.
  EXPECT_LE(std::fabs(actual - expected), kTolerance * std::max(scale, 1e-150))
      << what << ": " << actual << " instead of " << expected;
}

// The scale of the tolerance for the mean: the elements' mean magnitude, or,
// for implementations that sum distances from one element, their largest
// magnitude.
enum class MeanScale { kAbsMean, kAbsMax };

inline void ExpectSame(const Statistics& actual, const Statistics& expected,
                       MeanScale mean_scale = MeanScale::kAbsMean) {
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_EQ(actual.nan_count, expected.nan_count);
  EXPECT_EQ(actual.pos_inf_count, expected.pos_inf_count);
  EXPECT_EQ(actual.neg_inf_count, expected.neg_inf_count);
  EXPECT_EQ(actual.zero_count, expected.zero_count);
  EXPECT_EQ(actual.negative_count, expected.negative_count);
  EXPECT_EQ(actual.positive_count, expected.positive_count);
  if (!expected.has_finite()) return;
  EXPECT_EQ(actual.min, expected.min);
  EXPECT_EQ(actual.max, expected.max);
  EXPECT_EQ(actual.abs_max, expected.abs_max);
  const double scale =
      mean_scale == MeanScale::kAbsMax ? expected.abs_max : expected.abs_mean;
  ExpectClose(actual.mean, expected.mean, scale, "mean");
  ExpectClose(actual.abs_mean, expected.abs_mean, expected.abs_mean,
              "abs_mean");
  ExpectClose(actual.variance, expected.variance, expected.variance,
              "variance");
  ExpectClose(actual.l1, expected.l1, expected.l1, "l1");
  ExpectClose(actual.l2, expected.l2, expected.l2, "l2");
}

struct HardValues {
  std::string what;
  std::vector<double> values;
};

// `dtype` is a floating-point type.
inline std::vector<HardValues> HardValuesOf(DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  std::mt19937_64 random(20260721);
  const auto normal = [&](size_t n, double mean, double deviation) {
    std::normal_distribution<double> distribution(mean, deviation);
    std::vector<double> values(n);
    for (double& x : values) x = distribution(random);
    return values;
  };
  const auto with = [](std::vector<double> values, size_t at, double x) {
    values[at] = x;
    return values;
  };
  const double smallest = dtype == DType::kFloat16   ? std::ldexp(1, -24)
                          : dtype == DType::kFloat64 ? 4.9e-324
                          : dtype == DType::kFloat32 ? std::ldexp(1, -149)
                                                     : std::ldexp(1, -133);
  const double largest = dtype == DType::kFloat16   ? 65504
                         : dtype == DType::kFloat64 ? 1.7e308
                                                    : 3.3e38;
  std::vector<HardValues> cases;
  for (double bad : {nan, kInf, -kInf}) {
    for (size_t at : {0, 1, 8, 31, 32, 4095, 4096, 5000, 5002}) {
      cases.push_back({std::to_string(bad) + " at " + std::to_string(at),
                       with(normal(5003, 0, 1), at, bad)});
    }
  }
  std::vector<double> mixed;
  for (int i = 0; i < 3000; ++i) {
    mixed.insert(mixed.end(), {kInf, -kInf, nan, 0.0, -0.0, 1.5, -2.5});
  }
  cases.push_back({"infinities, NaNs and zeros", std::move(mixed)});
  cases.push_back({"only NaNs", std::vector<double>(5000, nan)});
  cases.push_back({"only -inf", std::vector<double>(5000, -kInf)});
  cases.push_back({"both infinities", {kInf, -kInf}});
  cases.push_back({"denormals", std::vector<double>(100, smallest)});
  cases.push_back(
      {"one denormal", with(std::vector<double>(5000, 0), 4321, -smallest)});
  // The sum of squares minus the square of the sum would cancel completely.
  if (dtype == DType::kFloat64) {
    cases.push_back({"a mean of 1e9", normal(100000, 1e9, 1e-3)});
  }
  if (dtype == DType::kFloat32) {
    cases.push_back({"a mean of 1e6", normal(100000, 1e6, 1)});
  }
  cases.push_back({"a mean of 100", normal(100000, 100, 1)});
  cases.push_back({"a large one first", with(normal(10000, 0, 1), 0, 60000)});
  cases.push_back({"all the same", std::vector<double>(70001, 0.1)});
  cases.push_back({"all the same but one",
                   with(std::vector<double>(70001, 1), 65536, 1.0 / 4096)});
  cases.push_back({"the largest", std::vector<double>(5000, largest)});
  cases.push_back({"the largest, both signs", {largest, -largest, largest, 1}});
  cases.push_back(
      {"the largest beside NaN and infinity", {largest, nan, -largest, kInf}});
  cases.push_back({"the largest among small ones",
                   with(normal(20000, 0, 1), 12345, largest)});
  return cases;
}

}  // namespace graphdbg::reference

#endif  // AGENT_KERNELS_REFERENCE_AGREEMENT_H_
