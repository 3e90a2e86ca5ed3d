#include "agent/kernels/reference/reference.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
Statistics Of(DType dtype, const std::vector<T>& values) {
  const int64_t shape[] = {static_cast<int64_t>(values.size())};
  Statistics s;
  EXPECT_TRUE(ComputeStatistics({dtype, values.data(), 1, shape, nullptr}, &s));
  return s;
}

TEST(ReferenceTest, NonFiniteElementsAreCountedSeparately) {
  const Statistics s = Of<double>(
      DType::kFloat64, {1, -3, 0, -0.0, std::nan(""), kInf, -kInf, -kInf});
  EXPECT_EQ(s.count, 8u);
  EXPECT_EQ(s.nan_count, 1u);
  EXPECT_EQ(s.pos_inf_count, 1u);
  EXPECT_EQ(s.neg_inf_count, 2u);
  EXPECT_EQ(s.zero_count, 2u);
  EXPECT_EQ(s.negative_count, 1u);
  EXPECT_EQ(s.positive_count, 1u);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.mean, -0.5);
  EXPECT_EQ(s.abs_mean, 1);
  EXPECT_EQ(s.abs_max, 3);
  EXPECT_EQ(s.variance, 2.25);
  EXPECT_EQ(s.l1, 4);
  EXPECT_DOUBLE_EQ(s.l2, std::sqrt(10));
}

TEST(ReferenceTest, EmptyAndAllNanTensorsHaveNoFiniteElement) {
  EXPECT_FALSE(Of<float>(DType::kFloat32, {}).has_finite());
  const Statistics s = Of<float>(DType::kFloat32, {std::nanf("")});
  EXPECT_EQ(s.count, 1u);
  EXPECT_FALSE(s.has_finite());
}

TEST(ReferenceTest, BoolsAreZeroOrOneForAnyByte) {
  const Statistics s = Of<uint8_t>(DType::kBool, {0, 1, 2, 255});
  EXPECT_EQ(s.zero_count, 1u);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.mean, 0.75);
}

TEST(ReferenceTest, HalfPrecisionIsReadExactly) {
  const auto value = [](DType dtype, uint16_t bits) {
    return static_cast<double>(ElementValue(dtype, &bits));
  };
  EXPECT_EQ(value(DType::kFloat16, 0x3C00), 1.0);
  EXPECT_EQ(value(DType::kFloat16, 0xC000), -2.0);
  EXPECT_EQ(value(DType::kFloat16, 0x7BFF), 65504.0);
  EXPECT_EQ(value(DType::kFloat16, 0x0001), std::ldexp(1, -24));
  EXPECT_EQ(value(DType::kFloat16, 0xFC00), -kInf);
  EXPECT_TRUE(std::isnan(value(DType::kFloat16, 0x7C01)));
  EXPECT_EQ(value(DType::kBfloat16, 0x3F80), 1.0);
  EXPECT_EQ(value(DType::kBfloat16, 0x7F80), kInf);
}

TEST(ReferenceTest, BroadcastElementsCountAsOftenAsTheyOccur) {
  const float row[] = {1, 2};
  const int64_t shape[] = {3, 2}, strides[] = {0, 1};
  Statistics s;
  ASSERT_TRUE(ComputeStatistics({DType::kFloat32, row, 2, shape, strides}, &s));
  EXPECT_EQ(s.count, 6u);
  EXPECT_EQ(s.l1, 9);
}

TEST(ReferenceTest, ComplexAndUnknownTypesHaveNoStatistics) {
  const int64_t shape[] = {1};
  const double data[2] = {};
  Statistics s;
  EXPECT_FALSE(
      ComputeStatistics({DType::kComplex64, data, 1, shape, nullptr}, &s));
  EXPECT_FALSE(ComputeStatistics({DType::kOther, data, 1, shape, nullptr}, &s));
}

}  // namespace
}  // namespace graphdbg::reference
