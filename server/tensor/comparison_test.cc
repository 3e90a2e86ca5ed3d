#include "server/tensor/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

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

Comparison Compared(const Values& left, const Values& right, double rtol = 1e-5,
                    double atol = 1e-8) {
  return *Compare(Of(left), Of(right), rtol, atol);
}

TEST(ComparisonTest, DifferencesAreThoseOfTheFormulas) {
  const Comparison c = Compared({1, 2, 3}, {1, 4, 2});
  EXPECT_EQ(c.count, 3u);
  EXPECT_EQ(c.not_close_count, 2u);
  EXPECT_EQ(c.max_abs_difference, 2);
  EXPECT_EQ(c.mean_abs_difference, 1);
  EXPECT_EQ(c.max_relative_difference, 0.5);
  EXPECT_DOUBLE_EQ(*c.cosine, 15 / std::sqrt(14.0 * 21.0));
  EXPECT_EQ(c.first_not_close, 1u);
  EXPECT_EQ(c.first_left, 2);
  EXPECT_EQ(c.first_right, 4);
}

TEST(ComparisonTest, TheSameIsTheSame) {
  const Values values = {0, -0.0, 1e300, INFINITY, -INFINITY, NAN};
  const Comparison c = Compared(values, values, 0, 0);
  EXPECT_EQ(c.not_close_count, 0u);
  EXPECT_FALSE(c.first_not_close);
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
  EXPECT_FALSE(c.max_abs_difference);
  EXPECT_FALSE(c.mean_abs_difference);
  EXPECT_FALSE(c.cosine);
}

TEST(ComparisonTest, AComplexNumberIsOneElement) {
  const Values left = {1, 2, 3, 4};
  const Values right = {1, 2, 5, 6};
  const Comparison c =
      *Compare(Of(left, "complex128"), Of(right, "complex128"), 0, 0);
  EXPECT_EQ(c.count, 2u);
  EXPECT_EQ(c.not_close_count, 1u);
  EXPECT_EQ(c.first_not_close, 1u);
  EXPECT_EQ(c.first_left, 3);
}

TEST(ComparisonTest, EmptyTensorsAreClose) {
  const Comparison c = Compared({}, {});
  EXPECT_EQ(c.count, 0u);
  EXPECT_FALSE(c.max_abs_difference);
}

TEST(ComparisonTest, DifferentSizesAreAnError) {
  EXPECT_EQ(ReasonOf(Compare(Of({1}), Of({1, 2}), 0, 0).status()),
            "shapes_differ");
}

TEST(ComparisonTest, FarInTheTensorIsFound) {
  Values left(10'000, 1);
  Values right = left;
  right[9'000] = 2;
  EXPECT_EQ(Compared(left, right).first_not_close, 9'000u);
}

}  // namespace
}  // namespace graphdbg::tensor
