#include "agent/conditions/expression.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "agent/conditions/catalogue.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

Statistics Sample() {
  Statistics s;
  s.count = 10;
  s.nan_count = 1;
  s.zero_count = 2;
  s.negative_count = 3;
  s.positive_count = 4;
  s.min = -2;
  s.max = 100;
  s.mean = 5;
  s.abs_mean = 6;
  s.abs_max = 100;
  s.variance = 16;
  s.l1 = 54;
  s.l2 = 60;
  return s;
}

// Evaluates an expression at step 7.
double Value(const std::string& text, const Statistics& statistics = Sample(),
             const PairStatistics* change = nullptr) {
  const absl::StatusOr<Expression> expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << text << ": " << expression.status();
  if (!expression.ok()) return -1;
  TensorMeasurements measurements(statistics, change, 7);
  return expression->Evaluate(&measurements);
}

TEST(ExpressionTest, ComparesStatisticsAndNumbers) {
  EXPECT_EQ(Value("abs_max > 1e3 && step > 100"), 0);
  EXPECT_EQ(Value("abs_max >= 1e2 && step == 7"), 1);
  EXPECT_EQ(Value("mean!=5||max_min<=102"), 1);
  EXPECT_EQ(Value("sd == 4"), 1);
  EXPECT_EQ(Value("variance == 16"), 1);
  EXPECT_EQ(Value("zero_percentage == 20"), 1);
  EXPECT_EQ(Value("inactive_percentage == 50"), 1);
  EXPECT_EQ(Value("nan_count + inf_count > 0"), 1);
  EXPECT_EQ(Value(" l2 < .6e2 \n"), 0);
}

TEST(ExpressionTest, BindsAsInC) {
  EXPECT_EQ(Value("1 + 2 * 3 == 7"), 1);
  EXPECT_EQ(Value("(1 + 2) * 3 == 9"), 1);
  EXPECT_EQ(Value("8 - 4 - 2 == 2"), 1);
  EXPECT_EQ(Value("8 / 4 / 2 == 1"), 1);
  EXPECT_EQ(Value("-2 * -3 == 6"), 1);
  EXPECT_EQ(Value("- -1 == 1"), 1);
  EXPECT_EQ(Value("1 > 2 && 1 > 2 || 2 > 1"), 1);
  EXPECT_EQ(Value("2 > 1 || 1 > 2 && 1 > 2"), 1);
  EXPECT_EQ(Value("!(1 > 2) && !!(2 > 1)"), 1);
  EXPECT_EQ(Value("1 > 2 || 2 > 1 || 1 > 2"), 1);
  EXPECT_EQ(Value("2 > 1 && 2 > 1 && 1 > 2"), 0);
}

TEST(ExpressionTest, HasFunctionsBesideStatisticsOfTheSameName) {
  EXPECT_EQ(Value("abs(min) == 2"), 1);
  EXPECT_EQ(Value("log10(max) == 2"), 1);
  EXPECT_EQ(Value("sqrt(variance) == sd"), 1);
  EXPECT_EQ(Value("min(max, min, 3) == min"), 1);
  EXPECT_EQ(Value("max (1, mean, 3) == 5"), 1);
}

TEST(ExpressionTest, ChangesAreOfThePreviousStep) {
  PairStatistics change;
  change.count = change.finite_count = 10;
  change.change_abs_mean = 1;
  change.change_abs_max = 3;
  change.previous_abs_mean = 2;
  EXPECT_EQ(Value("change_abs_max > 2 * change_abs_mean", Sample(), &change),
            1);
  EXPECT_EQ(Value("abs(change_ratio - 0.5) < 1e-6", Sample(), &change), 1);
}

TEST(ExpressionTest, WhatDoesNotExistIsUnknown) {
  Statistics nan;
  nan.count = nan.nan_count = 3;
  for (const char* unknown :
       {"mean > 3", "mean != 3", "!(mean > 3)", "mean > 3 && step > 1",
        "mean > 3 || step < 1", "min(mean, 1) < 2", "sqrt(0 - 1) < 2",
        "0 / 0 == 0", "change_abs_mean > 0"}) {
    EXPECT_TRUE(std::isnan(Value(unknown, nan))) << unknown;
  }
  EXPECT_EQ(Value("nan_count > 0 || mean > 3", nan), 1);
  EXPECT_EQ(Value("mean > 3 || nan_count > 0", nan), 1);
  EXPECT_EQ(Value("mean > 3 && nan_count == 0", nan), 0);
  EXPECT_EQ(Value("nan_count == 0 && mean > 3", nan), 0);
  EXPECT_EQ(Value("log10(0) < -1e300", nan), 1);
}

TEST(ExpressionTest, EveryStatisticHasAName) {
  for (const Measure& measure : Measures()) {
    const auto expression = Expression::Parse(std::string(measure.name) + ">0");
    ASSERT_TRUE(expression.ok()) << measure.name;
    ASSERT_EQ(expression->measures().size(), 1u);
    EXPECT_EQ(expression->measures()[0]->name, measure.name);
    EXPECT_EQ(expression->needs_previous(), measure.compares_steps);
  }
}

struct ErrorCase {
  const char* text;
  int column;
  const char* message;
};

class ErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorTest, NamesTheColumn) {
  const ErrorCase& c = GetParam();
  const absl::Status status = Expression::Parse(c.text).status();
  ASSERT_FALSE(status.ok()) << c.text;
  EXPECT_EQ(status.message().find("column " + std::to_string(c.column) + ": "),
            0u)
      << c.text << ": " << status;
  EXPECT_NE(status.message().find(c.message), std::string::npos)
      << c.text << ": " << status;
  EXPECT_EQ(status.GetPayload("graphdbg/column"),
            absl::Cord(std::to_string(c.column)));
}

INSTANTIATE_TEST_SUITE_P(
    All, ErrorTest,
    testing::Values(
        ErrorCase{"", 1, "empty"}, ErrorCase{"  ", 1, "empty"},
        ErrorCase{"abs_max", 1, "this is a number, but a watchpoint"},
        ErrorCase{"mean > ", 8, "incomplete"},
        ErrorCase{"absmax > 3", 1,
                  "unknown statistic \"absmax\"; expected one of min, "},
        ErrorCase{"mean > exp(2)", 8,
                  "unknown function \"exp\"; expected one of abs, "},
        ErrorCase{"mean > 3 && max", 13, "this is a number, but &&"},
        ErrorCase{"3 && mean > 3", 1, "this is a number, but &&"},
        ErrorCase{"(mean > 3) + 1 > 2", 1, "this is a condition, but +"},
        ErrorCase{"1 < mean < 3", 10, "do not chain"},
        ErrorCase{"!mean > 3", 2, "this is a number, but !"},
        ErrorCase{"mean = 3", 6, "write =="},
        ErrorCase{"mean > 3 and max > 1", 10, "write &&"},
        ErrorCase{"mean > 3 | max > 1", 10, "write ||"},
        ErrorCase{"not (mean > 3)", 1, "write !"},
        ErrorCase{"(mean > 3", 10, "to close the parenthesis"},
        ErrorCase{"mean > 3)", 9, "unexpected \")\""},
        ErrorCase{"mean > 3 max", 10, "unexpected \"max\""},
        ErrorCase{"mean > 1e", 8, "\"1e\" is not a number"},
        ErrorCase{"mean > 1.2.3", 8, "\"1.2.3\" is not a number"},
        ErrorCase{"mean > 0x10", 8, "\"0x10\" is not a number"},
        ErrorCase{"mean > 1e999", 8, "out of range for float64"},
        ErrorCase{"abs(mean, 1) > 1", 1, "abs takes one number"},
        ErrorCase{"min(mean) > 1", 1, "min takes two or more numbers"},
        ErrorCase{"abs(mean > 1", 5, "this is a condition, but abs"},
        ErrorCase{"mean > $", 8, "expected a number or a statistic"},
        ErrorCase{"mean\xC3\xA9 > 1", 5, "unexpected"}));

TEST(ExpressionTest, IsBounded) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '(') + "1" + std::string(levels, ')') + " > 0";
  };
  EXPECT_TRUE(Expression::Parse(nested(Expression::kMaxDepth - 1)).ok());
  EXPECT_EQ(Expression::Parse(nested(Expression::kMaxDepth)).status().message(),
            "column 33: nested more than 32 levels deep");
  std::string text = "1 > 0";
  while (text.size() + 9 <= Expression::kMaxBytes) text += " || 1 > 0";
  EXPECT_EQ(Value(text), 1);
  text.resize(Expression::kMaxBytes + 1, ' ');
  EXPECT_FALSE(Expression::Parse(text).ok());
}

// Each level leaves numbers on the stack until the innermost one is evaluated.
TEST(ExpressionTest, TheStackIsBounded) {
  std::string text;
  size_t levels = 0;
  for (; levels < 11; ++levels) text += "min(1, 2 + 3 * ";
  text += "4" + std::string(levels, ')') + " > 0";
  EXPECT_NE(Expression::Parse(text).status().message().find("too complex"),
            std::string::npos);
}

TEST(ExpressionTest, AsAConditionTellsWhatItFound) {
  const Arguments arguments{{}, {{"expression", "mean > 3 && nan_count > 0"}}};
  const absl::StatusOr<Predicate> predicate = Compile("expression", arguments);
  ASSERT_TRUE(predicate.ok());
  TensorMeasurements measurements(Sample(), nullptr, 7);
  Actual actual;
  EXPECT_EQ(predicate->Test(&measurements, &actual), Outcome::kMatched);
  EXPECT_EQ(actual, (Actual{{"mean", 5}, {"nan_count", 1}}));
}

TEST(ExpressionTest, AsAConditionSaysThatItLacksThePreviousValue) {
  const auto compile = [](const char* text) {
    return *Compile("expression", {{}, {{"expression", text}}});
  };
  TensorMeasurements measurements(Sample(), nullptr, 7);
  EXPECT_EQ(compile("change_ratio > 1").Test(&measurements),
            Outcome::kNoPrevious);
  EXPECT_EQ(compile("step > 9 && change_ratio > 1").Test(&measurements),
            Outcome::kNotMatched);
}

TEST(ExpressionTest, AsAConditionNamesFieldAndColumn) {
  const absl::Status status =
      Validate("expression", {{}, {{"expression", "mean >> 1"}}});
  EXPECT_EQ(status.GetPayload("graphdbg/field"),
            absl::Cord("condition.params.expression"));
  EXPECT_EQ(status.GetPayload("graphdbg/column"), absl::Cord("7"));
  EXPECT_FALSE(Validate("expression", {}).ok());
  EXPECT_FALSE(Validate("expression", {{{"expression", 1}}, {}}).ok());
  EXPECT_FALSE(Validate("max_gt", {{}, {{"value", "1"}}}).ok());
}

// 10,000 numbers from 1 to 100, each equally often.
std::vector<float> Hundred() {
  std::vector<float> values;
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<float>(i % 100 + 1));
  }
  return values;
}

Outcome TestOn(const std::vector<float>& values, const std::string& text,
               Actual* actual = nullptr) {
  const Predicate predicate =
      *Compile("expression", {{}, {{"expression", text}}});
  const auto size = static_cast<int64_t>(values.size());
  const TensorView view{DType::kFloat32, values.data(), 1, &size, nullptr};
  TensorMeasurements measurements(&view, nullptr, 7);
  EXPECT_TRUE(measurements.Measure(predicate.needs()));
  return predicate.Test(&measurements, actual);
}

TEST(ExpressionTest, ComparesQuantiles) {
  const std::vector<float> values = Hundred();
  Actual actual;
  EXPECT_EQ(TestOn(values, "p99 == 99 && p50 == 50", &actual),
            Outcome::kMatched);
  EXPECT_EQ(actual, (Actual{{"p99", 99}, {"p50", 50}}));
  for (const char* text :
       {"p01 == 1", "p05 == 5", "p10 == 10", "p25 == 25", "p75 == 75",
        "p90 == 90", "p95 == 95", "p95 - p05 == 90", "p99 < max && p01 == min",
        "max > 100 || p50 < 51"}) {
    EXPECT_EQ(TestOn(values, text), Outcome::kMatched) << text;
  }
  EXPECT_EQ(TestOn(values, "p99 > 99"), Outcome::kNotMatched);
}

TEST(ExpressionTest, QuantilesIgnoreWhatIsNotFinite) {
  std::vector<float> values = Hundred();
  values.resize(20'000, std::nanf(""));
  values.resize(30'000, std::numeric_limits<float>::infinity());
  EXPECT_EQ(TestOn(values, "p99 == 99"), Outcome::kMatched);
  const std::vector<float> none(9000, std::nanf(""));
  EXPECT_EQ(TestOn(none, "p50 < 1 || p50 >= 1"), Outcome::kNotMatched);
}

TEST(ExpressionTest, QuantilesCannotBeDerivedFromStatistics) {
  const Predicate predicate =
      *Compile("expression", {{}, {{"expression", "p50 > -1e30"}}});
  EXPECT_TRUE(predicate.needs_values());
  EXPECT_FALSE(predicate.uses_statistics_only());
  TensorMeasurements measurements(Sample(), nullptr, 7);
  EXPECT_EQ(predicate.Test(&measurements), Outcome::kNotMatched);
}

}  // namespace
}  // namespace graphdbg::conditions
