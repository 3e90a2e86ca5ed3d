#include "agent/conditions/series_expression.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<std::string>& Names() {
  static const auto* names = new std::vector<std::string>{"x", "y"};
  return *names;
}

// The results over a series whose variable y is always 1: '1', '0', or '?'.
std::string Results(const std::string& text,
                    const std::vector<double>& series) {
  const auto expression = SeriesExpression::Parse(text, Names());
  EXPECT_TRUE(expression.ok()) << text << ": " << expression.status();
  if (!expression.ok()) return "";
  SeriesState state = expression->Start();
  std::string results;
  for (const double x : series) {
    const double result = expression->Observe({x, 1.0}, &state);
    results += std::isnan(result) ? '?' : result == 1 ? '1' : '0';
  }
  return results;
}

TEST(SeriesExpressionTest, PrevIsUnknownUntilThereAreThatMany) {
  EXPECT_EQ(Results("prev(x, 1) < x", {1, 2, 2, 3}), "?101");
  EXPECT_EQ(Results("prev(x, 3) == 1", {1, 2, 3, 4, 5}), "???10");
}

TEST(SeriesExpressionTest, WindowsEndBeforeThePresent) {
  EXPECT_EQ(Results("x > mean_before(x, 2)", {1, 3, 3, 3, 1}), "??100");
  EXPECT_EQ(Results("x < min_before(x, 2)", {5, 4, 3, 3, 2}), "??101");
  EXPECT_EQ(Results("x > max_before(x, 2)", {1, 2, 3, 3, 4}), "??101");
}

TEST(SeriesExpressionTest, AnUnknownObservationMakesItsWindowsUnknown) {
  const std::vector<double> series{1, kUnknown, 1, 1, 2};
  EXPECT_EQ(Results("x > mean_before(x, 2)", series), "????1");
  EXPECT_EQ(Results("x > max_before(x, 2)", series), "????1");
  EXPECT_EQ(Results("prev(x, 1) == 1", series), "?1?11");
  EXPECT_EQ(Results("y > 0 || prev(x, 1) == 1", series), "11111");
}

TEST(SeriesExpressionTest, HeldIsNeverUnknown) {
  EXPECT_EQ(Results("held(x > 1, 2)", {2, 2, 2, 1, 2, 2}), "011001");
  EXPECT_EQ(Results("held(x > 1, 1)", {2, 1}), "10");
  EXPECT_EQ(Results("!held(x > 1, 2)", {kUnknown, 2, 2}), "110");
}

// && must not keep the window on its right side from seeing observations.
TEST(SeriesExpressionTest, WindowsSeeEveryObservation) {
  EXPECT_EQ(Results("x > 2 && prev(x, 1) == 2", {1, 2, 3}), "001");
  EXPECT_EQ(Results("x < 3 || prev(x, 1) == 2", {1, 2, 3}), "111");
}

TEST(SeriesExpressionTest, SeriesDoNotShareState) {
  const auto expression = SeriesExpression::Parse("x > prev(x, 1)", Names());
  ASSERT_TRUE(expression.ok());
  SeriesState a = expression->Start();
  SeriesState b = expression->Start();
  EXPECT_TRUE(std::isnan(expression->Observe({1.0, 0.0}, &a)));
  EXPECT_TRUE(std::isnan(expression->Observe({9.0, 0.0}, &b)));
  EXPECT_EQ(expression->Observe({2.0, 0.0}, &a), 1);
  EXPECT_EQ(expression->Observe({2.0, 0.0}, &b), 0);
}

TEST(SeriesExpressionTest, InfinitiesAreNumbersAndTheirDifferenceIsUnknown) {
  const std::vector<double> series{kInfinity, -kInfinity, 1, kInfinity};
  EXPECT_EQ(Results("mean_before(x, 2) > 0", series), "???0");
  EXPECT_EQ(Results("x - prev(x, 1) > 0", {kInfinity, kInfinity}), "??");
  EXPECT_EQ(Results("max_before(x, 2) > 1e308", series), "??10");
  EXPECT_EQ(Results("1 / (0 * -1) > 0", {0}), "1");
}

TEST(SeriesExpressionTest, KnowsItsVariables) {
  const auto expression =
      SeriesExpression::Parse("y > 1 && prev(y, 2) < x", Names());
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(expression->used(), (std::vector<uint32_t>{1, 0}));
}

struct ErrorCase {
  const char* text;
  int column;
  const char* message;
};

class SeriesErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(SeriesErrorTest, NamesTheColumn) {
  const ErrorCase& c = GetParam();
  const absl::Status status = SeriesExpression::Parse(c.text, Names()).status();
  ASSERT_FALSE(status.ok()) << c.text;
  EXPECT_EQ(status.GetPayload("graphdbg/column"),
            absl::Cord(std::to_string(c.column)))
      << c.text << ": " << status;
  EXPECT_NE(status.message().find(c.message), std::string::npos)
      << c.text << ": " << status;
}

INSTANTIATE_TEST_SUITE_P(
    All, SeriesErrorTest,
    testing::Values(
        ErrorCase{"prev(x, 0) > 1", 9, "a whole number from 1 to 1000"},
        ErrorCase{"prev(x, 1001) > 1", 9, "not \"1001\""},
        ErrorCase{"prev(x, 1.5) > 1", 9, "not \"1.5\""},
        ErrorCase{"prev(x, y) > 1", 9, "not \"y\""},
        ErrorCase{"prev(x) > 1", 7, "the number of observations"},
        ErrorCase{"prev(x, 1, 2) > 1", 10, "to close prev("},
        ErrorCase{"prev(prev(x, 1), 1) > 1", 6, "cannot occur within"},
        ErrorCase{"held(mean_before(x, 2) > 1, 1)", 6, "cannot occur within"},
        ErrorCase{"held(x, 2)", 6, "this is a number, but held"},
        ErrorCase{"prev(x > 1, 2)", 6, "this is a condition, but prev"},
        ErrorCase{"held(x > 1, 2) > 1", 1, "this is a condition, but >"},
        ErrorCase{"prev(x, 2)", 1, "this is a number, but a rule"},
        ErrorCase{"mean > 1", 1,
                  "unknown statistic \"mean\"; expected one of "
                  "x, y"},
        ErrorCase{"x > \xC3\xA9", 5, "not \"\xC3\xA9\""},
        ErrorCase{"before(x, 1) > 1", 1, "max_before, held"}));

TEST(SeriesExpressionTest, RulesReferToConditionsForQuantiles) {
  EXPECT_EQ(
      SeriesExpression::Parse("x > p99", Names()).status().message(),
      "column 5: p99 is not recorded: quantiles are computed from values, "
      "by conditions (graphdbg recheck) but not by rules");
}

TEST(SeriesExpressionTest, ConditionsReferToRules) {
  const absl::Status status =
      Expression::Parse("mean > 2 * prev(mean, 1)").status();
  EXPECT_EQ(status.message(),
            "column 12: prev looks at earlier steps, which only rules do: see "
            "graphdbg rules");
  EXPECT_FALSE(Expression::Parse("held(mean > 1, 2)").ok());
}

}  // namespace
}  // namespace graphdbg::conditions
