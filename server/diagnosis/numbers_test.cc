#include "server/diagnosis/numbers.h"

#include <gtest/gtest.h>

namespace graphdbg::diagnosis {
namespace {

TEST(NumbersTest, AreShort) {
  EXPECT_EQ(Number(96'256), "96,256");
  EXPECT_EQ(Number(-12'032.4), "-12,032");
  EXPECT_EQ(Number(-50.5), "-50.5");
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(1.0 / 3), "0.3333");
  EXPECT_EQ(Number(3.4028234663852886e38), "3.403e38");
  EXPECT_EQ(Number(1e-9), "1e-9");
  EXPECT_EQ(Number(1e-12), "1e-12");
}

TEST(NumbersTest, CountNouns) {
  EXPECT_EQ(Counted(1, "cell"), "1 cell");
  EXPECT_EQ(Counted(1'234'567, "cell"), "1,234,567 cells");
  EXPECT_EQ(Of(3, 40), "3 of 40 values");
  EXPECT_EQ(Of(40, 40), "all 40 values");
  EXPECT_EQ(Of(1, 1), "the only value");
}

TEST(NumbersTest, LimitsOfTypes) {
  EXPECT_EQ(Limit(DType::kFloat16), 65'504);
  EXPECT_EQ(Limit(DType::kInt64), std::nullopt);
}

}  // namespace
}  // namespace graphdbg::diagnosis
