#include "agent/conditions/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/conditions/catalogue.h"

namespace graphdbg::conditions {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdviceTest, EveryConditionHasSome) {
  for (const Condition& condition : Catalogue()) {
    // An executed op is not a symptom.
    if (condition.id == "executed") continue;
    const Advice advice = AdviceFor(condition.id, "", "");
    EXPECT_THAT(advice.causes, Not(IsEmpty())) << condition.id;
    EXPECT_THAT(advice.next, Not(IsEmpty())) << condition.id;
    EXPECT_THAT(advice.causes, Each(EndsWith(".")));
    EXPECT_THAT(advice.next, Each(EndsWith(".")));
  }
  EXPECT_THAT(AdviceFor("unknown", "aten::log", "").causes, IsEmpty());
}

TEST(AdviceTest, CausesOfTheOpComeFirst) {
  for (const char* op : {"aten::log", "aten::log_", "Log", "log"}) {
    const Advice advice = AdviceFor("inf", op, "float32");
    EXPECT_THAT(advice.causes[0], HasSubstr("logarithm of zero")) << op;
    EXPECT_THAT(advice.next[0], HasSubstr("log_softmax")) << op;
    EXPECT_GT(advice.causes.size(), 1u);
  }
}

TEST(AdviceTest, DependsOnTheDtype) {
  const auto first = [](absl::string_view dtype) {
    return AdviceFor("overflow", "aten::bmm", dtype).causes[0];
  };
  EXPECT_THAT(first("float16"), HasSubstr("65,504"));
  EXPECT_THAT(first("float32"), Not(HasSubstr("65,504")));
}

TEST(AdviceTest, DependsOnTheSymptom) {
  EXPECT_THAT(AdviceFor("tensor_all_zero", "aten::relu", "").causes[0],
              HasSubstr("dead"));
  EXPECT_THAT(AdviceFor("nan", "aten::relu", "").causes[0],
              Not(HasSubstr("dead")));
}

TEST(AdviceTest, FollowsFromTheStatisticsOfAnExpression) {
  const auto first = [](absl::string_view expression) {
    const Advice advice = AdviceForExpression(expression);
    EXPECT_THAT(advice.next, Not(IsEmpty())) << expression;
    return advice.causes.at(0);
  };
  EXPECT_EQ(first("nan_count > 0 && abs_max < 1"),
            AdviceFor("nan", "", "").causes[0]);
  EXPECT_EQ(first("abs_mean < 1e-7"),
            AdviceFor("abs_mean_lt", "", "").causes[0]);
  EXPECT_EQ(first("prev(abs_mean, 1) > 5"),
            AdviceFor("abs_mean_gt", "", "").causes[0]);
  EXPECT_THAT(first("max_min > 1"), HasSubstr("limit of the expression"));
  // A part of a name is not a name.
  EXPECT_EQ(first("previous_l2 > 1"), first("max_min > 1"));
}

}  // namespace
}  // namespace graphdbg::conditions
