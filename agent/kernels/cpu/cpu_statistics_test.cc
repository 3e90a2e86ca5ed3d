// Every dtype on every instruction set of this machine against the reference.
#include "agent/kernels/cpu/cpu_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/reference.h"
#include "gtest/gtest.h"

namespace graphdbg::cpu {
namespace {

// Relative to the largest number that takes part; the sums of a chunk are of
// up to 4,096 numbers in float64.
constexpr double kTolerance = 1e-12;

void ExpectClose(double actual, double expected, double scale,
                 const char* what) {
  // Squares of numbers below this are no float64.
  scale = std::max(scale, 1e-150);
  if (actual == expected) return;
  EXPECT_LE(std::fabs(actual - expected), kTolerance * scale)
      << what << ": " << actual << " instead of " << expected;
}

void ExpectSame(const Statistics& actual, const Statistics& expected) {
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
  ExpectClose(actual.mean, expected.mean, expected.abs_mean, "mean");
  ExpectClose(actual.abs_mean, expected.abs_mean, expected.abs_mean,
              "abs_mean");
  ExpectClose(actual.variance, expected.variance, expected.variance,
              "variance");
  ExpectClose(actual.l1, expected.l1, expected.l1, "l1");
  ExpectClose(actual.l2, expected.l2, expected.l2, "l2");
}

void Check(const TensorView& view) {
  Statistics actual, expected;
  ASSERT_TRUE(ComputeStatistics(view, &actual));
  ASSERT_TRUE(reference::ComputeStatistics(view, &expected));
  ExpectSame(actual, expected);
}

void CheckFlat(DType dtype, const std::vector<char>& bytes) {
  const int64_t shape[] = {
      static_cast<int64_t>(bytes.size() / ItemSize(dtype))};
  Check({dtype, bytes.data(), 1, shape, nullptr});
}

class AnyType : public OnEachTarget {};

// Random bytes are every kind of value, NaNs with payloads among them.
TEST_P(AnyType, AgreesOnRandomBytesOfAllLengths) {
  for (size_t n : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 511, 513, 4095, 4096,
                   4097, 8192, 10007}) {
    SCOPED_TRACE(n);
    std::vector<char> bytes(n * ItemSize(dtype()));
    for (char& b : bytes) b = static_cast<char>(random_());
    CheckFlat(dtype(), bytes);
  }
}

TEST_P(AnyType, AgreesOnStridedViews) {
  std::vector<char> bytes(9000 * ItemSize(dtype()));
  for (char& b : bytes) b = static_cast<char>(random_() % 120);
  for (const StridedCase& c : StridedCases()) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    Check({dtype(), bytes.data() + c.offset * ItemSize(dtype()), c.shape.size(),
           c.shape.data(), c.strides.data()});
  }
}

TEST_P(AnyType, ReadsUnalignedMemory) {
  std::vector<char> bytes(1000 * ItemSize(dtype()) + 1);
  for (char& b : bytes) b = static_cast<char>(random_() % 100);
  const int64_t shape[] = {1000};
  Check({dtype(), bytes.data() + 1, 1, shape, nullptr});
}

INSTANTIATE_TEST_SUITE_P(All, AnyType, OnAllTargets(AllTypes()), NameOf);

class FloatType : public OnEachTarget {
 protected:
  std::vector<double> Normal(size_t n, double mean, double deviation) {
    std::normal_distribution<double> normal(mean, deviation);
    std::vector<double> values(n);
    for (double& x : values) x = normal(random_);
    return values;
  }
  void CheckValues(const std::vector<double>& values) {
    CheckFlat(dtype(), Encode(dtype(), values));
  }
};

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST_P(FloatType, FindsOneBadElementAtAnyPlace) {
  for (double bad : {kNan, kInf, -kInf}) {
    for (size_t at : {0, 1, 8, 31, 32, 4095, 4096, 5000, 5002}) {
      SCOPED_TRACE(testing::PrintToString(at));
      std::vector<double> values = Normal(5003, 0, 1);
      values[at] = bad;
      CheckValues(values);
    }
  }
}

TEST_P(FloatType, MixesOfInfinitiesNansAndZeros) {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) {
    for (double x : {kInf, -kInf, kNan, 0.0, -0.0, 1.5, -2.5}) {
      values.push_back(x);
    }
  }
  CheckValues(values);
}

TEST_P(FloatType, NothingFinite) {
  CheckValues(std::vector<double>(5000, kNan));
  CheckValues(std::vector<double>(5000, -kInf));
  CheckValues({kInf, -kInf});
}

TEST_P(FloatType, Denormals) {
  const double smallest = dtype() == DType::kFloat16   ? std::ldexp(1, -24)
                          : dtype() == DType::kFloat64 ? 4.9e-324
                          : dtype() == DType::kFloat32 ? std::ldexp(1, -149)
                                                       : std::ldexp(1, -133);
  CheckValues(std::vector<double>(100, smallest));
  std::vector<double> values(5000, 0);
  values[4321] = -smallest;
  CheckValues(values);
}

// A sum of squares minus the square of the sum would leave nothing here.
TEST_P(FloatType, VarianceSurvivesALargeMean) {
  if (dtype() == DType::kFloat64) CheckValues(Normal(100000, 1e9, 1e-3));
  if (dtype() == DType::kFloat32) CheckValues(Normal(100000, 1e6, 1));
  CheckValues(Normal(100000, 100, 1));
  std::vector<double> values = Normal(10000, 0, 1);
  values[0] = 60000;
  CheckValues(values);
}

TEST_P(FloatType, TheLargestFiniteNumbers) {
  const double largest = dtype() == DType::kFloat16   ? 65504
                         : dtype() == DType::kFloat64 ? 1.7e308
                                                      : 3.3e38;
  CheckValues(std::vector<double>(5000, largest));
  CheckValues({largest, -largest, largest, 1});
  CheckValues({largest, kNan, -largest, kInf});
}

INSTANTIATE_TEST_SUITE_P(All, FloatType, OnAllTargets(FloatTypes()), NameOf);

TEST(CpuStatisticsTest, RefusesWhatItCannotRead) {
  const double data[2] = {};
  const int64_t one[] = {1}, negative[] = {-1};
  Statistics s;
  EXPECT_FALSE(ComputeStatistics({DType::kComplex64, data, 1, one}, &s));
  EXPECT_FALSE(ComputeStatistics({DType::kOther, data, 1, one}, &s));
  EXPECT_FALSE(ComputeStatistics({DType::kFloat32, data, 1, negative}, &s));
}

}  // namespace
}  // namespace graphdbg::cpu
