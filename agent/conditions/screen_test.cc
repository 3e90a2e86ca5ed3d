#include "agent/conditions/screen.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "agent/conditions/catalogue.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

using Values = std::vector<float>;

Predicate PredicateOf(const std::string& id,
                      const std::map<std::string, double>& params) {
  const absl::StatusOr<Predicate> predicate = Compile(id, {params, {}});
  EXPECT_TRUE(predicate.ok()) << id << ": " << predicate.status();
  return *predicate;
}

// Calls `use` with the measurements of a vector.
template <class Use>
auto Measured(const Values& values, Use use) {
  const auto size = static_cast<int64_t>(values.size());
  const TensorView view{DType::kFloat32, values.data(), 1, &size, nullptr};
  TensorMeasurements measurements(&view, nullptr, /*step=*/5);
  EXPECT_TRUE(measurements.Measure({/*statistics=*/true}));
  return use(&measurements);
}

bool RulesOut(const Screen& screen, const Values& values) {
  return Measured(values,
                  [&](TensorMeasurements* m) { return screen.RulesOut(*m); });
}

Screen ScreenOf(const std::vector<Predicate>& predicates) {
  Screen screen;
  for (const Predicate& predicate : predicates) {
    EXPECT_TRUE(screen.Add(predicate));
  }
  return screen;
}

TEST(ScreenTest, TheNearestBoundsOfAQuantityCount) {
  const Screen screen = ScreenOf(
      {PredicateOf("max_gt", {{"value", 10}}),
       PredicateOf("max_gt", {{"value", 5}}),
       PredicateOf("max_lt", {{"value", -3}}),
       PredicateOf("tensor_too_large", {{"max_gt", 20}, {"mean_gt", 4}})});
  EXPECT_TRUE(RulesOut(screen, {1, 2, 5}));
  EXPECT_FALSE(RulesOut(screen, {1, 2, 6}));
  EXPECT_FALSE(RulesOut(screen, {-5, -4}));
  EXPECT_TRUE(RulesOut(screen, {-5, -3}));
  EXPECT_FALSE(RulesOut(screen, {5, 5, 5}));
}

TEST(ScreenTest, BoundsThatAreIncludedHold) {
  const Screen less = ScreenOf({PredicateOf("sd_lt", {{"value", 0}})});
  EXPECT_TRUE(RulesOut(less, {2, 2, 2}));
  const Screen zeros =
      ScreenOf({PredicateOf("tensor_all_zero", {{"zero_percentage_ge", 100}})});
  EXPECT_FALSE(RulesOut(zeros, {0, 0}));
  EXPECT_TRUE(RulesOut(zeros, {0, 1}));
}

Predicate PredicateOfExpression(const char* expression) {
  return Predicate::FromExpression(*Expression::Parse(expression));
}

TEST(ScreenTest, TheFirstComparisonOfAConjunctionHasToHold) {
  for (const char* expression :
       {"abs_max > 3", "abs_max > 3 && step > 100",
        "abs_max >= 3 && (mean > 0 && zero_count == 0) && max < 9"}) {
    SCOPED_TRACE(expression);
    const Screen screen = ScreenOf({PredicateOfExpression(expression)});
    EXPECT_TRUE(RulesOut(screen, {1, -2}));
    EXPECT_FALSE(RulesOut(screen, {1, -4}));
  }
  Screen screen;
  for (const char* expression :
       {"abs_max > 3 || step > 100", "!(abs_max > 3)", "abs_max + 1 > 3",
        "3 < abs_max", "p50 > 3 && step > 1", "change_abs_max > 3"}) {
    EXPECT_FALSE(screen.Add(PredicateOfExpression(expression))) << expression;
  }
}

TEST(ScreenTest, WithoutASketchNothingIsRuledOut) {
  const Screen nan = ScreenOf({PredicateOf("nan", {})});
  EXPECT_TRUE(RulesOut(nan, {1, 2}));
  EXPECT_FALSE(RulesOut(nan, {1, std::nanf("")}));
  EXPECT_FALSE(RulesOut(nan, {}));
}

TEST(ScreenTest, SomeConditionsNeedATestOfTheirOwn) {
  Screen screen;
  EXPECT_FALSE(screen.Add(PredicateOf("max_gt", {{"value", 1}, {"axis", 0}})));
  EXPECT_FALSE(screen.Add(PredicateOf("tensor_not_changed", {})));
  EXPECT_FALSE(screen.Add(PredicateOf("weight_change_too_large",
                                      {{"abs_mean_update_ratio_gt", 1}})));
  EXPECT_FALSE(screen.Add(Predicate::OverflowFlag()));
  EXPECT_FALSE(screen.Add(Predicate::OnExecution()));
  EXPECT_TRUE(RulesOut(screen, {100}));
}

TEST(ScreenTest, NeverRulesOutWhatHolds) {
  const char* const ids[] = {
      "max_gt",      "max_lt",      "min_gt",     "min_lt",     "sd_gt",
      "sd_lt",       "mean_gt",     "mean_lt",    "abs_max_gt", "abs_max_lt",
      "abs_mean_gt", "abs_mean_lt", "max_min_gt", "max_min_lt"};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  int ruled_out = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Predicate> predicates;
    for (int i = 0; i < 2; ++i) {
      predicates.push_back(PredicateOf(ids[random() % std::size(ids)],
                                       {{"value", std::fabs(normal(random))}}));
    }
    const Screen screen = ScreenOf(predicates);
    Values values(1 + random() % 20);
    const float scale = normal(random);
    for (float& value : values) value = scale * normal(random);
    if (!RulesOut(screen, values)) continue;
    ++ruled_out;
    for (const Predicate& predicate : predicates) {
      EXPECT_EQ(Measured(values,
                         [&](TensorMeasurements* measurements) {
                           return predicate.Test(measurements);
                         }),
                Outcome::kNotMatched);
    }
  }
  EXPECT_GT(ruled_out, 100);
}

}  // namespace
}  // namespace graphdbg::conditions
