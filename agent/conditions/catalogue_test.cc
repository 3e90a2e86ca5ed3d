#include "agent/conditions/catalogue.h"

#include <limits>
#include <set>

#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

using Params = std::map<std::string, double>;

absl::Status Check(const std::string& id, const Params& params) {
  return Validate(id, {params, {}});
}

std::string FieldOf(const absl::Status& status) {
  auto field = status.GetPayload("graphdbg/field");
  return field ? std::string(*field) : "";
}

// The required parameters of a condition, and the first tested one.
Arguments Enough(const Condition& condition) {
  if (condition.id == "expression") return {{}, {{"expression", "mean > 1"}}};
  Params params;
  bool tested = false;
  for (const Parameter& parameter : condition.params) {
    if (parameter.required || (parameter.tested && !tested)) {
      params[parameter.name] = 1;
    }
    tested |= parameter.tested;
    if (parameter.name.find("range_") == 0) params[parameter.name] = 1;
  }
  return {params, {}};
}

TEST(CatalogueTest, HasThePromisedConditionsOnceEach) {
  std::set<std::string> ids;
  for (const Condition& condition : Catalogue()) {
    EXPECT_TRUE(ids.insert(condition.id).second) << condition.id;
    EXPECT_FALSE(condition.title.empty());
    EXPECT_FALSE(condition.help.empty());
    EXPECT_FALSE(condition.nan_policy.empty());
    EXPECT_FALSE(condition.backends.empty());
  }
  const std::set<std::string> promised = {
      // MindSpore's user interface.
      "tensor_overflow", "operator_overflow", "tensor_too_large",
      "tensor_too_small", "tensor_all_zero", "tensor_range",
      "weight_initialization", "weight_overflow", "weight_too_large",
      "weight_too_small", "weight_not_changed", "weight_change_too_large",
      "weight_change_too_small", "gradient_vanishing", "gradient_too_large",
      "gradient_exploding", "activation_range",
      // Simple conditions.
      "nan", "inf", "overflow", "max_gt", "max_lt", "min_gt", "min_lt",
      "max_min_gt", "max_min_lt", "mean_gt", "mean_lt", "sd_gt", "sd_lt",
      // Others.
      "abs_max_gt", "abs_max_lt", "abs_mean_gt", "abs_mean_lt",
      "tensor_variance", "tensor_not_changed", "activation_inactive",
      "expression", "executed",
      // Conditions of training.
      "gradient_always_zero", "gradient_missing", "parameter_not_optimized",
      "update_without_effect", "learning_rate_not_positive",
      "gradient_not_reset", "loss_detached", "loss_broadcast",
      "output_constant", "wrong_mode", "batch_repeated",
      "autocast_without_effect", "cast_without_effect", "loss_normalized_twice",
      "loss_ignores_labels", "loss_wrong_dimension", "replicas_differ"};
  EXPECT_EQ(ids, promised);
}

TEST(CatalogueTest, WireConditionsAreThoseOfMindSpore) {
  const std::map<std::string, int> expected = {{"nan", 0},
                                               {"inf", 1},
                                               {"operator_overflow", 2},
                                               {"max_gt", 3},
                                               {"max_lt", 4},
                                               {"min_gt", 5},
                                               {"min_lt", 6},
                                               {"max_min_gt", 7},
                                               {"max_min_lt", 8},
                                               {"mean_gt", 9},
                                               {"mean_lt", 10},
                                               {"sd_gt", 11},
                                               {"sd_lt", 12},
                                               {"tensor_overflow", 13},
                                               {"weight_initialization", 14},
                                               {"gradient_too_large", 15},
                                               {"gradient_vanishing", 16},
                                               {"tensor_all_zero", 17},
                                               {"weight_change_too_large", 18},
                                               {"weight_change_too_small", 19},
                                               {"weight_not_changed", 20},
                                               {"activation_range", 21}};
  for (const auto& [id, wire] : expected) {
    EXPECT_EQ(Find(id)->wire_condition, wire) << id;
  }
  EXPECT_FALSE(Find("abs_max_gt")->wire_condition);
}

TEST(CatalogueTest, EveryRowCompilesWithItsParameters) {
  for (const Condition& condition : Catalogue()) {
    const absl::Status status =
        Compile(condition.id, Enough(condition)).status();
    EXPECT_TRUE(status.ok()) << condition.id << " " << status;
  }
}

TEST(CatalogueTest, TargetsAreCategories) {
  EXPECT_EQ(TargetOf(*Find("weight_overflow")).category, Category::kWeight);
  EXPECT_EQ(TargetOf(*Find("gradient_vanishing")).category,
            Category::kGradient);
  EXPECT_EQ(TargetOf(*Find("activation_range")).category,
            Category::kActivation);
  EXPECT_TRUE(TargetOf(*Find("tensor_range")).everything());
  EXPECT_TRUE(TargetOf(*Find("executed")).ops_only);
}

TEST(CatalogueTest, NoTensorMatchesAConditionThatTheProgramReports) {
  for (const Condition& condition : Catalogue()) {
    if (!condition.reported_by_program()) continue;
    EXPECT_TRUE(TargetOf(condition).everything()) << condition.id;
    EXPECT_TRUE(condition.params.empty()) << condition.id;
    const Predicate predicate = *Compile(condition.id, {});
    EXPECT_FALSE(predicate.needs().previous) << condition.id;
    EXPECT_FALSE(predicate.matches_non_finite()) << condition.id;
  }
  EXPECT_TRUE(Find("loss_detached")->reported_by_program());
  EXPECT_FALSE(Find("nan")->reported_by_program());
}

TEST(CatalogueTest, ErrorsNameTheWrongField) {
  EXPECT_EQ(FieldOf(Check("nonsense", {})), "condition.id");
  EXPECT_EQ(FieldOf(Check("max_gt", {})), "condition.params.value");
  EXPECT_EQ(FieldOf(Check("nan", {{"value", 1}})), "condition.params.value");
  EXPECT_EQ(FieldOf(Check("max_gt", {{"value", 1}, {"extra", 2}})),
            "condition.params.extra");
  EXPECT_EQ(FieldOf(Check("tensor_too_large", {})), "condition.params");
  EXPECT_TRUE(Validate("inf", {{}, {{"absorbed", "stop"}}}).ok());
  EXPECT_EQ(FieldOf(Validate("inf", {{}, {{"absorbed", "halt"}}})),
            "condition.params.absorbed");
  EXPECT_TRUE(Validate("nan", {{}, {{"propagated", "stop"}}}).ok());
  EXPECT_EQ(FieldOf(Validate("nan", {{}, {{"absorbed", "stop"}}})),
            "condition.params.absorbed");
  EXPECT_EQ(FieldOf(Check("inf", {{"absorbed", 1}})),
            "condition.params.absorbed");
  EXPECT_EQ(FieldOf(Check("tensor_range", {{"range_percentage_lt", 5},
                                           {"range_start_inclusive", 1}})),
            "condition.params.range_end_inclusive");
  EXPECT_EQ(FieldOf(Check("activation_range", {{"max_min_gt", 5},
                                               {"range_start_inclusive", 2},
                                               {"range_end_inclusive", 1}})),
            "condition.params.range_start_inclusive");
}

struct LimitCase {
  const char* id;
  const char* param;
  double wrong;
  double right;
  const char* message;
};

class LimitTest : public testing::TestWithParam<LimitCase> {};

TEST_P(LimitTest, IsNamedInTheError) {
  const LimitCase& c = GetParam();
  const absl::Status status = Check(c.id, {{c.param, c.wrong}});
  EXPECT_EQ(FieldOf(status), std::string("condition.params.") + c.param);
  EXPECT_NE(status.message().find(c.message), std::string::npos) << status;
  EXPECT_TRUE(Check(c.id, {{c.param, c.right}}).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, LimitTest,
    testing::Values(
        LimitCase{"tensor_all_zero", "zero_percentage_ge", 100.5, 100,
                  "at most 100, not 100.5"},
        LimitCase{"tensor_all_zero", "zero_percentage_ge", -1, 0,
                  "at least 0, not -1"},
        LimitCase{"gradient_too_large", "abs_mean_gt", -1e-3, 0, "at least 0"},
        LimitCase{"activation_range", "max_min_lt", 0, 1e-9, "above 0, not 0"},
        LimitCase{"weight_not_changed", "equal_nan", 2, 1, "true or false"},
        LimitCase{"weight_not_changed", "rtol", -1, 0, "at least 0"},
        LimitCase{"max_gt", "value", std::numeric_limits<double>::quiet_NaN(),
                  -1e300, "a finite number"},
        LimitCase{"sd_lt", "value", -1, 2, "at least 0"},
        LimitCase{"tensor_all_zero", "axis", 0.5, -2,
                  "a whole number, not 0.5"},
        LimitCase{"weight_initialization", "axis", 64, 63, "at most 63"}));

TEST(CatalogueTest, AnAxisIsNoSubstituteForAThreshold) {
  EXPECT_EQ(FieldOf(Check("tensor_too_large", {{"axis", 1}})),
            "condition.params");
  EXPECT_EQ(FieldOf(Check("nan", {{"axis", 1}})), "condition.params.axis");
}

}  // namespace
}  // namespace graphdbg::conditions
