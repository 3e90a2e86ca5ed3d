#include "agent/kernels/cpu/quantiles.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/agreement.h"
#include "agent/kernels/reference/reference.h"
#include "gtest/gtest.h"

namespace graphdbg::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::optional<Quantiles> Of(const TensorView& view) {
  Statistics s;
  Quantiles quantiles;
  if (!ComputeStatistics(view, &s) ||
      !ComputeQuantiles(view, s.min, s.max, &quantiles)) {
    return std::nullopt;
  }
  return quantiles;
}

bool IsExact(DType dtype, int64_t count) {
  return ItemSize(dtype) <= 2 ||
         count <= static_cast<int64_t>(kExactQuantileElements);
}

double SmallestNormal(DType dtype) {
  if (dtype == DType::kFloat32) return std::ldexp(1, -126);
  return dtype == DType::kFloat64 ? std::ldexp(1, -1022) : 0;
}

void ExpectWithinError(const TensorView& view, const std::string& what) {
  const std::optional<Quantiles> actual = Of(view);
  const std::optional<Quantiles> expected = reference::ComputeQuantiles(view);
  ASSERT_EQ(actual.has_value(), expected.has_value()) << what;
  if (!actual) return;
  const double error =
      IsExact(view.dtype, *view.element_count()) ? 0 : kQuantileError;
  for (size_t i = 0; i < Quantiles::kPercents.size(); ++i) {
    const double a = actual->values[i], e = expected->values[i];
    EXPECT_LE(std::fabs(a - e),
              error * std::max(std::fabs(e), SmallestNormal(view.dtype)))
        << what << ", " << Quantiles::kNames[i] << ": " << a << " instead of "
        << e;
  }
}

class QuantilesTest : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }

  void Check(const std::vector<double>& values, const std::string& what) {
    const std::vector<char> bytes = Encode(dtype(), values);
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    ExpectWithinError({dtype(), bytes.data(), 1, shape, nullptr}, what);
  }

  std::mt19937_64 random_{20261125};
};

class AnyTypeTest : public QuantilesTest {};
class FloatTest : public QuantilesTest {};

// Bytes of any kind are also NaN, infinities and denormals.
TEST_P(AnyTypeTest, RandomBytes) {
  for (int64_t count : {0, 1, 2, 99, 100, 101, 4096, 4097, 50'000}) {
    std::vector<uint64_t> words(static_cast<size_t>(count) + 1);
    for (uint64_t& word : words) word = random_();
    ExpectWithinError({dtype(), words.data(), 1, &count, nullptr},
                      std::to_string(count));
  }
}

TEST_P(AnyTypeTest, Views) {
  std::vector<uint64_t> words(9000);
  for (uint64_t& word : words) word = random_();
  for (const StridedCase& c : StridedCases()) {
    const char* data = reinterpret_cast<const char*>(words.data()) +
                       c.offset * static_cast<int64_t>(ItemSize(dtype()));
    ExpectWithinError(
        {dtype(), data, c.shape.size(), c.shape.data(), c.strides.data()},
        "view");
  }
}

TEST_P(FloatTest, HardValues) {
  for (const auto& hard : reference::HardValuesOf(dtype())) {
    Check(hard.values, hard.what);
  }
}

TEST_P(FloatTest, HeavyTails) {
  std::cauchy_distribution<double> cauchy(0, 3);
  std::lognormal_distribution<double> lognormal(0, 4);
  std::vector<double> both(70'000), one(70'000);
  for (double& x : both) x = cauchy(random_);
  for (double& x : one) x = lognormal(random_);
  Check(both, "Cauchy");
  Check(one, "log-normal");
}

TEST_P(FloatTest, ConstantsZerosAndSmallIntegersAreExact) {
  const auto quantiles = [&](const std::vector<double>& values) {
    const std::vector<char> bytes = Encode(dtype(), values);
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    return *Of({dtype(), bytes.data(), 1, shape, nullptr});
  };
  const double tenth = quantiles({0.1}).values[0];
  for (double p : quantiles(std::vector<double>(9000, 0.1)).values) {
    EXPECT_EQ(p, tenth);
  }
  std::vector<double> half(9000, -0.0);
  for (size_t i = 0; i < 4400; ++i) half[2 * i] = 3e4;
  EXPECT_EQ(quantiles(half).values[4], 0);
  std::vector<double> integers;
  for (int i = 0; i < 20'000; ++i) integers.push_back(i % 200 - 99);
  const Quantiles counted = quantiles(integers);
  for (size_t i = 0; i < Quantiles::kPercents.size(); ++i) {
    EXPECT_EQ(counted.values[i], 2 * Quantiles::kPercents[i] - 100);
  }
}

INSTANTIATE_TEST_SUITE_P(, AnyTypeTest, testing::ValuesIn(AllTypes()),
                         [](const auto& i) { return ToString(i.param); });
INSTANTIATE_TEST_SUITE_P(, FloatTest, testing::ValuesIn(FloatTypes()),
                         [](const auto& i) { return ToString(i.param); });

TEST(QuantilesTest, NoFiniteElementHasNoQuantiles) {
  const std::vector<float> none(9000, std::nanf(""));
  const std::vector<float> infinities(9000, -static_cast<float>(kInf));
  const int64_t shape[] = {9000}, empty[] = {0};
  EXPECT_FALSE(Of({DType::kFloat32, none.data(), 1, shape, nullptr}));
  EXPECT_FALSE(Of({DType::kFloat32, infinities.data(), 1, shape, nullptr}));
  EXPECT_FALSE(Of({DType::kFloat32, none.data(), 1, empty, nullptr}));
  EXPECT_FALSE(Of({DType::kComplex64, none.data(), 1, empty, nullptr}));
}

}  // namespace
}  // namespace graphdbg::cpu
