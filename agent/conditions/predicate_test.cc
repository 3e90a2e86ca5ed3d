#include "agent/conditions/predicate.h"

#include <cmath>
#include <limits>
#include <optional>

#include "agent/conditions/catalogue.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

using Params = std::map<std::string, double>;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// A condition on vectors of float64.
struct Answer {
  Outcome outcome;
  Actual actual;
};

Answer Try(const std::string& id, const Params& params, const Values& now,
           const std::optional<Values>& previous = std::nullopt,
           uint64_t step = 5) {
  const absl::StatusOr<Predicate> predicate = Compile(id, {params, {}});
  EXPECT_TRUE(predicate.ok()) << predicate.status();
  const int64_t size = static_cast<int64_t>(now.size());
  const int64_t old_size =
      previous ? static_cast<int64_t>(previous->size()) : 0;
  const TensorView view{DType::kFloat64, now.data(), 1, &size, nullptr};
  TensorView old_view = view;
  old_view.shape = &old_size;
  if (previous) old_view.data = previous->data();
  TensorMeasurements measurements(&view, previous ? &old_view : nullptr, step);
  EXPECT_TRUE(measurements.Measure(predicate->needs()));
  Answer answer;
  answer.outcome = predicate->Test(&measurements, &answer.actual);
  return answer;
}

bool Met(const std::string& id, const Params& params, const Values& now,
         const std::optional<Values>& previous = std::nullopt,
         uint64_t step = 5) {
  const Answer answer = Try(id, params, now, previous, step);
  EXPECT_EQ(answer.actual.empty(), answer.outcome != Outcome::kMatched);
  return answer.outcome == Outcome::kMatched;
}

TEST(PredicateTest, NonFiniteConditionsCountWhatTheyFound) {
  const Values values = {1, kNan, -kInf, -kInf};
  EXPECT_EQ(Try("nan", {}, values).actual, (Actual{{"nan_count", 1}}));
  EXPECT_EQ(Try("inf", {}, values).actual,
            (Actual{{"pos_inf_count", 0}, {"neg_inf_count", 2}}));
  for (const char* id : {"overflow", "tensor_overflow", "weight_overflow",
                         "gradient_exploding"}) {
    EXPECT_EQ(
        Try(id, {}, values).actual,
        (Actual{{"nan_count", 1}, {"pos_inf_count", 0}, {"neg_inf_count", 2}}))
        << id;
  }
}

TEST(PredicateTest, NonFiniteConditionsTellNanFromInfinity) {
  EXPECT_TRUE(Met("overflow", {}, {kNan}));
  EXPECT_TRUE(Met("overflow", {}, {kInf}));
  EXPECT_FALSE(Met("overflow", {}, {1}));
  EXPECT_FALSE(Met("inf", {}, {kNan}));
  EXPECT_FALSE(Met("nan", {}, {kInf}));
  EXPECT_FALSE(Met("nan", {}, {}));
}

struct ComparisonCase {
  const char* id;
  double holds;
  double edge;
  double actual;
};

class ComparisonTest : public testing::TestWithParam<ComparisonCase> {};

TEST_P(ComparisonTest, ComparesStrictlyAndReportsTheStatistic) {
  const ComparisonCase& c = GetParam();
  const Values values = {-3, 0, 1, 2, kNan, kInf};
  const Answer answer = Try(c.id, {{"value", c.holds}}, values);
  EXPECT_EQ(answer.outcome, Outcome::kMatched);
  const std::string id = c.id;
  EXPECT_EQ(answer.actual, (Actual{{id.substr(0, id.size() - 3), c.actual}}));
  EXPECT_FALSE(Met(c.id, {{"value", c.edge}}, values));
  EXPECT_FALSE(Met(c.id, {{"value", c.holds}}, {kNan, kInf}));
  EXPECT_FALSE(Met(c.id, {{"value", c.holds}}, {}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ComparisonTest,
    testing::Values(ComparisonCase{"min_gt", -4, -3, -3},
                    ComparisonCase{"min_lt", -2, -3, -3},
                    ComparisonCase{"max_gt", 1, 2, 2},
                    ComparisonCase{"max_lt", 3, 2, 2},
                    ComparisonCase{"max_min_gt", 4, 5, 5},
                    ComparisonCase{"max_min_lt", 6, 5, 5},
                    ComparisonCase{"mean_gt", -1, 0, 0},
                    ComparisonCase{"mean_lt", 1, 0, 0},
                    ComparisonCase{"sd_gt", 1, std::sqrt(3.5), std::sqrt(3.5)},
                    ComparisonCase{"sd_lt", 2, std::sqrt(3.5), std::sqrt(3.5)},
                    ComparisonCase{"abs_max_gt", 2, 3, 3},
                    ComparisonCase{"abs_max_lt", 4, 3, 3},
                    ComparisonCase{"abs_mean_gt", 1, 1.5, 1.5},
                    ComparisonCase{"abs_mean_lt", 2, 1.5, 1.5}));

TEST(PredicateTest, AnyGivenParameterHolds) {
  const Values values = {1, 3};
  const Answer answer =
      Try("tensor_too_large", {{"max_gt", 2}, {"mean_gt", 10}}, values);
  EXPECT_EQ(answer.outcome, Outcome::kMatched);
  EXPECT_EQ(answer.actual, (Actual{{"max_gt", 3}, {"mean_gt", 2}}));
  EXPECT_FALSE(
      Met("tensor_too_large", {{"max_gt", 4}, {"mean_gt", 10}}, values));
  EXPECT_TRUE(Met("gradient_too_large", {{"abs_mean_gt", 1}}, {-2, 2}));
  EXPECT_TRUE(Met("weight_too_large", {{"min_gt", 0}}, values));
  EXPECT_TRUE(Met("gradient_vanishing", {{"abs_mean_lt", 1e-9}}, {0, 1e-10}));
  EXPECT_FALSE(Met("gradient_vanishing", {{"abs_mean_lt", 1e-9}}, {kNan}));
  EXPECT_TRUE(Met("tensor_too_small", {{"min_lt", 2}}, values));
}

TEST(PredicateTest, SharesAreOfAllElements) {
  EXPECT_TRUE(Met("tensor_all_zero", {}, {0, -0.0}));
  EXPECT_FALSE(Met("tensor_all_zero", {}, {0, kNan}));
  EXPECT_FALSE(Met("tensor_all_zero", {}, {}));
  const Answer answer =
      Try("tensor_all_zero", {{"zero_percentage_ge", 50}}, {0, 1});
  EXPECT_EQ(answer.actual, (Actual{{"zero_percentage_ge", 50}}));
  EXPECT_TRUE(Met("activation_inactive", {}, {0, -1}));
  EXPECT_FALSE(Met("activation_inactive", {}, {0, 1e-300}));
  EXPECT_FALSE(Met("activation_inactive", {{"inactive_percentage_ge", 60}},
                   {0, -1, kInf, kNan}));
}

TEST(PredicateTest, RangesAreInclusiveAndTheirSharesInPercent) {
  const Params range = {{"range_start_inclusive", -1},
                        {"range_end_inclusive", 1}};
  Params less = range, more = range;
  less["range_percentage_lt"] = 60;
  more["range_percentage_gt"] = 40;
  const Values half = {-1, 1, 2, kNan};
  EXPECT_EQ(Try("activation_range", less, half).actual,
            (Actual{{"range_percentage_lt", 50}}));
  EXPECT_TRUE(Met("tensor_range", more, half));
  EXPECT_FALSE(Met("tensor_range", more, {kInf, kNan, 0.5}));
  EXPECT_TRUE(Met("tensor_range", less, {kInf, kNan}));
  EXPECT_FALSE(Met("tensor_range", less, {}));
  EXPECT_TRUE(Met("tensor_range", {{"max_min_lt", 3}}, {1, 2}));
  EXPECT_FALSE(Met("tensor_range", {{"max_min_gt", 3}}, {1, 2}));
}

TEST(PredicateTest, InitialWeightsAreThoseBeforeTheFirstStep) {
  EXPECT_TRUE(Met("weight_initialization", {}, {0, 0}, std::nullopt, 0));
  EXPECT_FALSE(Met("weight_initialization", {}, {0, 0}, std::nullopt, 1));
  // The default applies only if no parameter is given.
  EXPECT_FALSE(
      Met("weight_initialization", {{"max_gt", 1}}, {0, 0}, std::nullopt, 0));
  EXPECT_TRUE(
      Met("weight_initialization", {{"min_lt", -5}}, {-6, 0}, std::nullopt, 0));
}

TEST(PredicateTest, NotChangedIsAllcloseWithTheOlderValue) {
  const Params params = {{"rtol", 0.1}, {"atol", 0}};
  EXPECT_TRUE(Met("weight_not_changed", params, {1.09, -kInf}, {{1, -kInf}}));
  EXPECT_FALSE(Met("weight_not_changed", params, {1.12, -kInf}, {{1, -kInf}}));
  // The tolerance is relative to the previous value, not to the new one.
  EXPECT_FALSE(Met("weight_not_changed", params, {1.11}, {{1}}));
  EXPECT_TRUE(Met("weight_not_changed", params, {1}, {{1.11}}));
  EXPECT_FALSE(Met("weight_not_changed", params, {kNan}, {{kNan}}));
  Params equal_nan = params;
  equal_nan["equal_nan"] = 1;
  EXPECT_TRUE(Met("weight_not_changed", equal_nan, {kNan}, {{kNan}}));
  EXPECT_FALSE(Met("tensor_not_changed", {}, {}, {{}}));
  EXPECT_FALSE(Met("tensor_not_changed", {}, {1, 2}, {{1}}));
  EXPECT_EQ(Try("weight_not_changed", {}, {1}, {{1}}).actual,
            (Actual{{"changed_count", 0}}));
}

TEST(PredicateTest, ChangesAreRelativeToTheOldValue) {
  const Values old = {1, -1, kNan, 5}, now = {1.5, -1.5, 7, kInf};
  const Answer answer = Try("weight_change_too_large", {}, now, old);
  EXPECT_EQ(answer.outcome, Outcome::kMatched);
  EXPECT_NEAR(answer.actual.at("abs_mean_update_ratio_gt"), 0.5, 1e-8);
  EXPECT_FALSE(Met("weight_change_too_small", {}, now, old));
  EXPECT_TRUE(Met("weight_change_too_small", {}, {1 + 1e-5}, {{1}}));
  EXPECT_FALSE(Met("weight_change_too_large", {{"epsilon", 9}}, {1.5}, {{1}}));
  EXPECT_FALSE(Met("weight_change_too_large", {}, {kNan}, {{1}}));
}

TEST(PredicateTest, WithoutAPreviousValueChangesAreNotTested) {
  for (const char* id :
       {"weight_not_changed", "tensor_not_changed", "weight_change_too_large",
        "weight_change_too_small"}) {
    EXPECT_EQ(Try(id, {}, {1}).outcome, Outcome::kNoPrevious) << id;
    EXPECT_TRUE(Compile(id, {})->needs().previous);
  }
  EXPECT_FALSE(Compile("overflow", {})->needs().previous);
  EXPECT_FALSE(Compile("overflow", {})->needs().statistics);
}

TEST(PredicateTest, StatisticsOfRecordedTensorsDo) {
  Statistics statistics;
  statistics.count = 4;
  statistics.nan_count = 1;
  PairStatistics change;
  change.count = change.finite_count = 4;
  change.change_abs_mean = change.previous_abs_mean = 1;
  TensorMeasurements measurements(statistics, &change, 3);
  EXPECT_EQ(Compile("nan", {})->Test(&measurements), Outcome::kMatched);
  EXPECT_EQ(Compile("weight_change_too_large", {})->Test(&measurements),
            Outcome::kMatched);
  TensorMeasurements alone(statistics, nullptr, 3);
  EXPECT_EQ(Compile("weight_change_too_large", {})->Test(&alone),
            Outcome::kNoPrevious);
}

TEST(TensorMeasurementsTest, PartsOfComplexNumbersAreElements) {
  // A transposed 2 x 2 tensor with a NaN in an imaginary part.
  const float data[] = {1, 2, 3, 4, 5, std::nanf(""), 7, 8};
  const int64_t shape[] = {2, 2}, strides[] = {1, 2};
  const TensorView view{DType::kComplex64, data, 2, shape, strides};
  TensorMeasurements measurements(&view, &view, 1);
  ASSERT_TRUE(measurements.Measure({}));
  EXPECT_FALSE(measurements.all_finite());
  EXPECT_EQ(measurements.statistics().count, 8u);
  EXPECT_EQ(measurements.statistics().nan_count, 1u);
  EXPECT_EQ(measurements.statistics().max, 8);
  EXPECT_EQ(measurements.CountChanged({}, 2), 1u);
  const int64_t one[] = {1};
  const TensorView finite{DType::kComplex64, data, 1, one, nullptr};
  TensorMeasurements small(&finite, nullptr, 1);
  ASSERT_TRUE(small.Measure({}));
  EXPECT_TRUE(small.all_finite());
}

TEST(TensorMeasurementsTest, WhatCannotBeReadIsSaid) {
  const int64_t size = 1;
  const double data = 1;
  const TensorView view{DType::kOther, &data, 1, &size, nullptr};
  EXPECT_FALSE(TensorMeasurements(&view, nullptr, 1).Measure({}));
  EXPECT_FALSE(TensorMeasurements(&view, nullptr, 1).Measure({true, false}));
}

TEST(PredicateTest, MinimumAndMaximumMayDecideAPercentage) {
  const auto percentage_above_50 = [](double start, double end,
                                      uint64_t nan_count) {
    Statistics statistics;
    statistics.count = 4;
    statistics.nan_count = nan_count;
    statistics.min = 1;
    statistics.max = 2;
    // There are no values that could be counted.
    TensorMeasurements measurements(statistics, nullptr, 3);
    const Params params = {{"range_start_inclusive", start},
                           {"range_end_inclusive", end},
                           {"range_percentage_gt", 50}};
    return Compile("tensor_range", {params, {}})->Test(&measurements);
  };
  EXPECT_EQ(percentage_above_50(1, 2, 0), Outcome::kMatched);
  EXPECT_EQ(percentage_above_50(3, 4, 0), Outcome::kNotMatched);
  EXPECT_EQ(percentage_above_50(1, 1.9, 0), Outcome::kNotMatched);
  EXPECT_EQ(percentage_above_50(1, 2, 1), Outcome::kNotMatched);
}

// Recordings have statistics and changes by the default tolerance.
TEST(PredicateTest, NamesWhatCannotBeTestedWithoutValues) {
  const auto needs_values = [](const char* id, const Params& params) {
    const auto predicate = Compile(id, {params, {}});
    EXPECT_TRUE(predicate.ok()) << predicate.status();
    return predicate->needs_values();
  };
  EXPECT_FALSE(needs_values("nan", {}));
  EXPECT_FALSE(needs_values("weight_not_changed", {}));
  EXPECT_TRUE(needs_values("weight_not_changed", {{"rtol", 0.1}}));
  EXPECT_TRUE(needs_values("tensor_range", {{"range_start_inclusive", 0},
                                            {"range_end_inclusive", 1},
                                            {"range_percentage_lt", 10}}));
}

TEST(PredicateTest, ChangesThatWereCountedElsewhereAreUsed) {
  const auto predicate = Compile("tensor_not_changed", {});
  ASSERT_TRUE(predicate.ok());
  Statistics statistics;
  statistics.count = 4;
  const PairStatistics change{4, 4, 0, 0, 0, 1, 2};
  for (const uint64_t changed : {0, 3}) {
    TensorMeasurements measurements(statistics, &change, 5);
    measurements.set_changed_count(changed);
    EXPECT_EQ(predicate->Test(&measurements),
              changed == 0 ? Outcome::kMatched : Outcome::kNotMatched);
  }
}

// A tensor of shape 2 x 3.
Answer TryOnMatrix(const std::string& id, const Arguments& arguments,
                   const std::vector<float>& now,
                   const std::vector<float>& previous = {}) {
  const absl::StatusOr<Predicate> predicate = Compile(id, arguments);
  EXPECT_TRUE(predicate.ok()) << predicate.status();
  const int64_t shape[] = {2, 3};
  const TensorView view{DType::kFloat32, now.data(), 2, shape, nullptr};
  TensorView old_view = view;
  old_view.data = previous.data();
  TensorMeasurements measurements(&view, previous.empty() ? nullptr : &old_view,
                                  5);
  EXPECT_TRUE(measurements.Measure(predicate->needs()));
  Answer answer;
  answer.outcome = predicate->Test(&measurements, &answer.actual);
  EXPECT_EQ(predicate->Test(&measurements), answer.outcome);
  return answer;
}

TEST(PredicateTest, AnAxisTestsEachChannelByItself) {
  const std::vector<float> values = {1, 0, 0,  //
                                     5, 0, 0};
  const auto zeros = [&](double axis) {
    return TryOnMatrix("tensor_all_zero", {{{"axis", axis}}, {}}, values);
  };
  EXPECT_EQ(zeros(0).outcome, Outcome::kNotMatched);
  for (const double columns : {1, -1}) {
    EXPECT_EQ(zeros(columns).outcome, Outcome::kMatched);
    EXPECT_EQ(zeros(columns).actual, (Actual{{"zero_percentage_ge", 100},
                                             {"channel", 1},
                                             {"matching_channels", 2}}));
  }
  // The matrix has no such dimension.
  EXPECT_EQ(zeros(2).outcome, Outcome::kNotMatched);
  EXPECT_EQ(zeros(-3).outcome, Outcome::kNotMatched);
  const Arguments rows{{{"axis", 0}}, {{"expression", "p99 > 4 && mean < 2"}}};
  EXPECT_EQ(TryOnMatrix("expression", rows, values).actual,
            (Actual{{"p99", 5},
                    {"mean", 5.0 / 3},
                    {"channel", 1},
                    {"matching_channels", 1}}));
}

TEST(PredicateTest, ChannelsAreComparedWithTheirPreviousValues) {
  const Arguments rows{{{"axis", 0}}, {}};
  const std::vector<float> now = {1, 2, 3, 4, 5, 6},
                           before = {1, 2, 3, 0, 0, 0};
  EXPECT_EQ(
      TryOnMatrix("tensor_not_changed", rows, now, before).actual,
      (Actual{{"changed_count", 0}, {"channel", 0}, {"matching_channels", 1}}));
  EXPECT_EQ(TryOnMatrix("tensor_not_changed", rows, now).outcome,
            Outcome::kNoPrevious);
}

TEST(PredicateTest, AnAxisHasALimitedNumberOfChannels) {
  const auto outcome = [](int64_t channels) {
    const std::vector<float> values(static_cast<size_t>(channels));
    const TensorView view{DType::kFloat32, values.data(), 1, &channels,
                          nullptr};
    TensorMeasurements measurements(&view, nullptr, 5);
    const Predicate predicate =
        *Compile("max_gt", {{{"value", 1}, {"axis", 0}}, {}});
    EXPECT_TRUE(measurements.Measure(predicate.needs()));
    return predicate.Test(&measurements);
  };
  EXPECT_EQ(outcome(65'536), Outcome::kNotMatched);
  EXPECT_EQ(outcome(65'537), Outcome::kTooManyChannels);
  EXPECT_EQ(outcome(0), Outcome::kNotMatched);
}

}  // namespace
}  // namespace graphdbg::conditions
