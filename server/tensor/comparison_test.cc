#include "server/tensor/comparison.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

using Values = std::vector<double>;

Numbers Of(const Values& values, const char* dtype = "float64") {
  return *Numbers::Of(
      model::ParseTensorType(dtype, {}),
      std::string_view(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(double)));
}

Comparison CompareWhole(const Numbers& left, const Numbers& right, double rtol,
                        double atol) {
  Comparer comparer(rtol, atol, 3);
  EXPECT_TRUE(comparer.Add(left, right).ok());
  return comparer.Finish();
}

Comparison Compared(const Values& left, const Values& right, double rtol = 1e-5,
                    double atol = 1e-8) {
  return CompareWhole(Of(left), Of(right), rtol, atol);
}

TEST(ComparisonTest, DifferencesAreThoseOfTheFormulas) {
  const Comparison c = Compared({1, 2, 3}, {1, 4, 2});
  EXPECT_EQ(c.count, 3u);
  EXPECT_EQ(c.not_close_count, 2u);
  EXPECT_EQ(c.max_abs_difference, 2);
  EXPECT_EQ(c.mean_abs_difference, 1);
  EXPECT_EQ(c.max_relative_difference, 0.5);
  EXPECT_DOUBLE_EQ(*c.cosine, 15 / std::sqrt(14.0 * 21.0));
  EXPECT_EQ(c.max_abs_at.element, 1u);
  EXPECT_EQ(c.max_relative_at.element, 1u);
  EXPECT_EQ(c.equal_count, 1u);
  EXPECT_DOUBLE_EQ(*c.mean_difference, -1 / 3.0);
  EXPECT_DOUBLE_EQ(*c.rms_difference, std::sqrt(5 / 3.0));
  ASSERT_EQ(c.first_not_close.size(), 2u);
  EXPECT_EQ(c.first_not_close[0].element, 1u);
  EXPECT_EQ(c.first_not_close[0].left, 2);
  EXPECT_EQ(c.first_not_close[0].right, 4);
}

TEST(ComparisonTest, TheSameIsTheSame) {
  const Values values = {0, -0.0, 1e300, INFINITY, -INFINITY, NAN};
  const Comparison c = Compared(values, values, 0, 0);
  EXPECT_EQ(c.not_close_count, 0u);
  EXPECT_TRUE(c.first_not_close.empty());
  EXPECT_EQ(c.equal_count, 6u);
  EXPECT_EQ(c.both_nan_count, 1u);
  EXPECT_EQ(c.ulps->counts, std::vector<uint64_t>{3});
  EXPECT_EQ(c.non_finite_count, 3u);
  EXPECT_EQ(c.max_abs_difference, 0);
}

TEST(ComparisonTest, TolerancesAreRelativeToTheRight) {
  EXPECT_EQ(Compared({100}, {110}, 0.0910, 0).not_close_count, 0u);
  EXPECT_EQ(Compared({110}, {100}, 0.0910, 0).not_close_count, 1u);
  EXPECT_EQ(Compared({0.5}, {0}, 10, 0.5).not_close_count, 0u);
  EXPECT_FALSE(Compared({0.5}, {0}).max_relative_difference);
}

TEST(ComparisonTest, NanAndInfinitiesAreCloseToThemselvesOnly) {
  EXPECT_EQ(Compared({NAN}, {1}, 1e9, 1e9).not_close_count, 1u);
  EXPECT_EQ(Compared({INFINITY}, {-INFINITY}, 1e9, 1e9).not_close_count, 1u);
  EXPECT_EQ(Compared({1}, {INFINITY}, 1e9, 1e9).not_close_count, 1u);
  const Comparison c = Compared({NAN}, {1});
  EXPECT_FALSE(c.ulps);
  EXPECT_FALSE(c.max_abs_difference);
  EXPECT_FALSE(c.mean_abs_difference);
  EXPECT_FALSE(c.cosine);
}

TEST(ComparisonTest, AComplexNumberIsOneElement) {
  const Values left = {1, 2, 3, 4};
  const Values right = {1, 2, 5, 6};
  const Comparison c =
      CompareWhole(Of(left, "complex128"), Of(right, "complex128"), 0, 0);
  EXPECT_EQ(c.count, 2u);
  EXPECT_EQ(c.not_close_count, 1u);
  EXPECT_EQ(c.equal_count, 1u);
  ASSERT_EQ(c.first_not_close.size(), 1u);
  EXPECT_EQ(c.first_not_close[0].element, 1u);
  EXPECT_EQ(c.first_not_close[0].left, 3);
}

TEST(ComparisonTest, EmptyTensorsAreClose) {
  const Comparison c = Compared({}, {});
  EXPECT_EQ(c.count, 0u);
  EXPECT_FALSE(c.max_abs_difference);
}

TEST(ComparisonTest, DifferentSizesAreAnError) {
  Comparer comparer(0, 0, 1);
  EXPECT_EQ(ReasonOf(comparer.Add(Of({1}), Of({1, 2}))), "shapes_differ");
}

TEST(ComparisonTest, OnlyTheFirstDifferencesAreListed) {
  Values left(10'000, 1);
  Values right = left;
  for (size_t at : {5'000, 7'000, 8'000, 9'000}) right[at] = 2;
  const Comparison c = Compared(left, right);
  EXPECT_EQ(c.not_close_count, 4u);
  ASSERT_EQ(c.first_not_close.size(), 3u);
  EXPECT_EQ(c.first_not_close[0].element, 5'000u);
  EXPECT_EQ(c.first_not_close[2].element, 8'000u);
}

TEST(ComparisonTest, NanOfEachSideIsCounted) {
  const Comparison c = Compared({NAN, NAN, 1, 1}, {NAN, 1, NAN, 1});
  EXPECT_EQ(c.left_nan_count, 2u);
  EXPECT_EQ(c.right_nan_count, 2u);
  EXPECT_EQ(c.both_nan_count, 1u);
  EXPECT_EQ(c.equal_count, 2u);
}

TEST(ComparisonTest, UlpsCountRepresentableNumbers) {
  const auto ulps = [](double left, double right) {
    return Compared({left}, {right}).ulps->max;
  };
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(ulps(1, std::nextafter(1.0, 2.0)), 1u);
  EXPECT_EQ(ulps(1, std::nextafter(1.0, 0.0)), 1u);
  EXPECT_EQ(ulps(0.0, -0.0), 0u);
  EXPECT_EQ(ulps(-kTiny, 2 * kTiny), 3u);
  EXPECT_EQ(ulps(1, 2), uint64_t{1} << 52);
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(ulps(-kMax, kMax), 2 * std::bit_cast<uint64_t>(kMax));
  const Comparison c =
      Compared({1, 1, 1, NAN}, {1, 1 + 0x1p-52, 1 + 5 * 0x1p-52, 1});
  EXPECT_EQ(c.ulps->counts, (std::vector<uint64_t>{1, 1, 0, 1}));
  EXPECT_EQ(c.ulps->max_at.element, 2u);
}

TEST(ComparisonTest, OnlyFloatsOfTheSameTypeHaveUlps) {
  const std::string bytes(8, '\0');
  const auto of = [&](const char* dtype) {
    return *Numbers::Of(model::ParseTensorType(dtype, {}), bytes);
  };
  EXPECT_TRUE(CompareWhole(of("float16"), of("float16"), 0, 0).ulps);
  EXPECT_FALSE(CompareWhole(of("float16"), of("bfloat16"), 0, 0).ulps);
  EXPECT_FALSE(CompareWhole(of("int32"), of("int32"), 0, 0).ulps);
}

// Random bits, which include NaN, infinities and subnormal numbers.
std::string RandomBytes(std::mt19937_64& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// Every type, in pieces that end anywhere, as the formulas of NumPy give it.
TEST(ComparisonTest, PiecesOfRandomElementsAreComparedAsAWhole) {
  std::mt19937_64 random(7);
  for (const char* dtype :
       {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16",
        "float32", "float64"}) {
    SCOPED_TRACE(dtype);
    const model::TensorType type = model::ParseTensorType(dtype, {});
    const size_t item = ItemSize(type.dtype);
    const size_t n = 9'001;
    const std::string left = RandomBytes(random, n * item);
    std::string right = left;
    for (size_t at = 0; at < right.size(); at += 5) {
      right[at] = static_cast<char>(random());
    }
    const auto numbers = [&](std::string_view bytes, size_t from, size_t to) {
      return *Numbers::Of(type, bytes.substr(from * item, (to - from) * item));
    };
    Comparer comparer(0.5, 0.125, 100'000);
    for (size_t from = 0, size = 1; from < n;
         from += size, size = size * 7 + 1) {
      const size_t to = std::min(n, from + size);
      ASSERT_TRUE(
          comparer.Add(numbers(left, from, to), numbers(right, from, to)).ok());
    }
    const Comparison c = comparer.Finish();

    Values a(n);
    Values b(n);
    numbers(left, 0, n).Read(0, a);
    numbers(right, 0, n).Read(0, b);
    uint64_t equal = 0;
    std::vector<uint64_t> far;
    double max_abs = 0;
    long double sum = 0;
    uint64_t finite = 0;
    for (size_t i = 0; i < n; ++i) {
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      const bool both_finite = std::isfinite(a[i]) && std::isfinite(b[i]);
      const bool close =
          same || (both_finite &&
                   std::abs(a[i] - b[i]) <= 0.125 + 0.5 * std::abs(b[i]));
      equal += same ? 1 : 0;
      if (!close) far.push_back(i);
      if (!both_finite) continue;
      ++finite;
      max_abs = std::max(max_abs, std::abs(a[i] - b[i]));
      sum += std::abs(static_cast<long double>(a[i]) - b[i]);
    }
    EXPECT_EQ(c.count, n);
    EXPECT_EQ(c.equal_count, equal);
    EXPECT_EQ(c.non_finite_count, n - finite);
    EXPECT_EQ(c.max_abs_difference, max_abs);
    EXPECT_EQ(std::abs(c.max_abs_at.left - c.max_abs_at.right), max_abs);
    if (std::isfinite(*c.mean_abs_difference)) {
      const auto mean = static_cast<double>(sum / finite);
      EXPECT_NEAR(*c.mean_abs_difference, mean, std::abs(mean) * 1e-9);
    }
    ASSERT_EQ(c.first_not_close.size(), far.size());
    for (size_t i = 0; i < far.size(); ++i) {
      ASSERT_EQ(c.first_not_close[i].element, far[i]);
    }
    if (!c.ulps) continue;
    uint64_t pairs = 0;
    for (uint64_t count : c.ulps->counts) pairs += count;
    EXPECT_EQ(pairs, finite);
  }
}

// Counts the finite numbers of a type between two of them, one by one.
TEST(ComparisonTest, UlpsOfShortFloatsAreCountedOneByOne) {
  for (const char* dtype : {"float16", "bfloat16", "float8_e4m3fn"}) {
    SCOPED_TRACE(dtype);
    const model::TensorType type = model::ParseTensorType(dtype, {});
    const size_t item = ItemSize(type.dtype);
    const size_t patterns = item == 1 ? 256 : 65'536;
    std::string all;
    for (size_t bits = 0; bits < patterns; ++bits) {
      all.append(reinterpret_cast<const char*>(&bits), item);
    }
    Values values(patterns);
    Numbers::Of(type, all)->Read(0, values);
    std::vector<size_t> order;
    for (size_t bits = 0; bits < patterns; ++bits) {
      // -0 is the same number as 0.
      const bool negative_zero =
          values[bits] == 0 && std::signbit(values[bits]);
      if (std::isfinite(values[bits]) && !negative_zero) order.push_back(bits);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return values[a] < values[b]; });
    const auto bytes = [&](size_t at) {
      return std::string_view(all).substr(order[at] * item, item);
    };
    for (size_t at = 1; at < order.size(); at += 97) {
      const Comparison c = CompareWhole(*Numbers::Of(type, bytes(0)),
                                        *Numbers::Of(type, bytes(at)), 0, 0);
      ASSERT_EQ(c.ulps->max, at);
    }
  }
}

}  // namespace
}  // namespace graphdbg::tensor
