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
    // An expression has no symptom of its own, and an execution none at all.
    if (condition.id == "expression" || condition.id == "executed") continue;
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

}  // namespace
}  // namespace graphdbg::conditions
