#include "agent/conditions/catalogue.h"

#include <limits>
#include <set>

#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

using Params = std::map<std::string, double>;

Statistics Finite(double min, double max, double mean) {
  Statistics s;
  s.count = 4;
  s.min = min;
  s.max = max;
  s.mean = mean;
  s.abs_max = 3;
  s.abs_mean = 2;
  return s;
}

Predicate MustCompile(const std::string& id, const Params& params = {}) {
  absl::StatusOr<Predicate> predicate = Compile(id, params);
  EXPECT_TRUE(predicate.ok()) << predicate.status();
  return *predicate;
}

std::string FieldOf(const absl::Status& status) {
  auto field = status.GetPayload("graphdbg/field");
  return field ? std::string(*field) : "";
}

TEST(CatalogueTest, HasThePromisedConditionsOnceEach) {
  std::set<std::string> ids;
  for (const Condition& condition : Catalogue()) {
    EXPECT_TRUE(ids.insert(condition.id).second) << condition.id;
    EXPECT_FALSE(condition.title.empty());
    EXPECT_FALSE(condition.help.empty());
    EXPECT_FALSE(condition.nan_policy.empty());
  }
  EXPECT_EQ(ids, (std::set<std::string>{"nan", "inf", "overflow", "min_gt",
                                        "min_lt", "max_gt", "max_lt", "mean_gt",
                                        "mean_lt", "abs_max_gt", "abs_max_lt",
                                        "abs_mean_gt", "abs_mean_lt"}));
}

TEST(CatalogueTest, EveryRowCompilesWithItsRequiredParameters) {
  for (const Condition& condition : Catalogue()) {
    Params params;
    for (const Parameter& parameter : condition.params) {
      if (parameter.required) params[parameter.name] = 1;
    }
    EXPECT_TRUE(Compile(condition.id, params).ok()) << condition.id;
  }
}

TEST(CatalogueTest, ErrorsNameTheWrongField) {
  EXPECT_EQ(FieldOf(Validate("nonsense", {})), "condition.id");
  EXPECT_EQ(FieldOf(Validate("max_gt", {})), "condition.params.value");
  EXPECT_EQ(FieldOf(Validate("nan", {{"value", 1}})), "condition.params.value");
  EXPECT_EQ(FieldOf(Validate("max_gt", {{"value", 1}, {"extra", 2}})),
            "condition.params.extra");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  absl::Status status = Validate("max_gt", {{"value", nan}});
  EXPECT_EQ(FieldOf(status), "condition.params.value");
  EXPECT_NE(status.message().find("condition.params.value"), std::string::npos);
}

TEST(PredicateTest, NonFiniteConditionsCountWhatTheyFound) {
  Statistics s;
  s.count = 6;
  s.nan_count = 1;
  s.neg_inf_count = 2;
  Actual actual;
  EXPECT_TRUE(MustCompile("nan").Test(s, &actual));
  EXPECT_EQ(actual, (Actual{{"nan_count", 1}}));
  actual.clear();
  EXPECT_TRUE(MustCompile("inf").Test(s, &actual));
  EXPECT_EQ(actual, (Actual{{"pos_inf_count", 0}, {"neg_inf_count", 2}}));
  actual.clear();
  EXPECT_TRUE(MustCompile("overflow").Test(s, &actual));
  EXPECT_EQ(
      actual,
      (Actual{{"nan_count", 1}, {"pos_inf_count", 0}, {"neg_inf_count", 2}}));
}

TEST(PredicateTest, FiniteTensorsMeetNoNonFiniteCondition) {
  const Statistics s = Finite(-1, 1, 0);
  for (const char* id : {"nan", "inf", "overflow"}) {
    Actual actual;
    EXPECT_FALSE(MustCompile(id).Test(s, &actual)) << id;
    EXPECT_TRUE(actual.empty());
  }
}

TEST(PredicateTest, OverflowHoldsForEither) {
  Statistics nan;
  nan.count = nan.nan_count = 1;
  Statistics inf;
  inf.count = inf.pos_inf_count = 1;
  EXPECT_TRUE(MustCompile("overflow").Test(nan));
  EXPECT_TRUE(MustCompile("overflow").Test(inf));
  EXPECT_FALSE(MustCompile("inf").Test(nan));
  EXPECT_FALSE(MustCompile("nan").Test(inf));
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
  const Statistics s = Finite(-3, 2, -0.5);
  Actual actual;
  EXPECT_TRUE(MustCompile(c.id, {{"value", c.holds}}).Test(s, &actual));
  ASSERT_EQ(actual.size(), 1u);
  EXPECT_EQ(actual.begin()->second, c.actual);
  EXPECT_EQ(actual.begin()->first +
                std::string(c.id).substr(std::string(c.id).size() - 3),
            c.id);
  EXPECT_FALSE(MustCompile(c.id, {{"value", c.edge}}).Test(s));
}

INSTANTIATE_TEST_SUITE_P(
    All, ComparisonTest,
    testing::Values(ComparisonCase{"min_gt", -4, -3, -3},
                    ComparisonCase{"min_lt", -2, -3, -3},
                    ComparisonCase{"max_gt", 1, 2, 2},
                    ComparisonCase{"max_lt", 3, 2, 2},
                    ComparisonCase{"mean_gt", -1, -0.5, -0.5},
                    ComparisonCase{"mean_lt", 0, -0.5, -0.5},
                    ComparisonCase{"abs_max_gt", 2, 3, 3},
                    ComparisonCase{"abs_max_lt", 4, 3, 3},
                    ComparisonCase{"abs_mean_gt", 1, 2, 2},
                    ComparisonCase{"abs_mean_lt", 3, 2, 2}));

TEST(PredicateTest, WithoutFiniteElementsNoComparisonHolds) {
  Statistics s;
  s.count = s.nan_count = 3;
  EXPECT_FALSE(MustCompile("max_lt", {{"value", 1}}).Test(s));
  EXPECT_FALSE(MustCompile("max_lt", {{"value", 1}}).Test(Statistics()));
}

}  // namespace
}  // namespace graphdbg::conditions
