#include "server/rules/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphdbg::rules {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

std::string When(const char* id, const RuleParams& changed = {}) {
  const BuiltIn& rule = *Find(id);
  RuleParams values = rule.Defaults();
  for (const auto& [name, value] : changed) values[name] = value;
  return rule.parts.at(0).When(values).value_or("");
}

TEST(CatalogueTest, EveryRuleIsDescribed) {
  EXPECT_EQ(Catalogue().size(), 24u);
  for (const BuiltIn& rule : Catalogue()) {
    EXPECT_FALSE(rule.title.empty()) << rule.id;
    EXPECT_THAT(rule.advice->causes, Not(IsEmpty())) << rule.id;
    EXPECT_THAT(rule.advice->next, Not(IsEmpty())) << rule.id;
    for (const RuleParam& param : rule.params) {
      EXPECT_FALSE(param.help.empty()) << rule.id << " " << param.name;
      if (!param.number) continue;
      EXPECT_TRUE(param.Accepts(*param.number)) << rule.id;
    }
  }
  EXPECT_EQ(Find("vanishing_gradients"), nullptr);
}

TEST(CatalogueTest, ParametersAreFilledIn) {
  EXPECT_EQ(When("vanishing_gradient"), "abs_mean < 1e-07 && count > 0");
  EXPECT_EQ(When("vanishing_gradient", {{"threshold", 10}}),
            "abs_mean < 10 && count > 0");
  EXPECT_EQ(When("unchanged_tensor", {{"num_steps", 5}}),
            "held(changed_count == 0, 4)");
  EXPECT_EQ(When("exploding_tensor"), "nan_count > 0 || inf_count > 0");
  EXPECT_EQ(When("exploding_tensor", {{"only_nan", 1}}), "nan_count > 0");
}

TEST(CatalogueTest, ARuleMayNeedOneOfSeveralParameters) {
  EXPECT_EQ(When("tensor_variance"), "");
  EXPECT_EQ(When("tensor_variance", {{"min_threshold", 0}}), "variance < 0");
  EXPECT_EQ(
      When("tensor_variance", {{"min_threshold", 0}, {"max_threshold", 2.5}}),
      "variance > 2.5 || variance < 0");
}

TEST(CatalogueTest, ParametersHaveTypesAndLimits) {
  const RuleParam& steps = *Find("unchanged_tensor")->Param("num_steps");
  EXPECT_EQ(steps.Accepts(), "a whole number from 2 to 1001");
  EXPECT_TRUE(steps.Accepts(2));
  EXPECT_FALSE(steps.Accepts(1));
  EXPECT_FALSE(steps.Accepts(2.5));
  EXPECT_FALSE(Find("exploding_tensor")->Param("only_nan")->Accepts(2));
  EXPECT_TRUE(Find("similar_across_runs")->Param("other")->required());
  EXPECT_FALSE(Find("tensor_variance")->Param("max_threshold")->required());
  EXPECT_EQ(Find("all_zero")->Param("thresold"), nullptr);
}

TEST(CatalogueTest, RulesAreExpressionsOrPython) {
  EXPECT_TRUE(Find("overfit")->in_python());
  EXPECT_FALSE(Find("overfit")->needs_selection());
  EXPECT_TRUE(Find("all_zero")->needs_selection());
  const BuiltIn& compound = *Find("poor_weight_initialization");
  EXPECT_EQ(compound.parts.size(), 3u);
  EXPECT_EQ(compound.parts[0].series.size(), 2u);
  EXPECT_EQ(compound.parts[0].reduce.size(), 2u);
}

}  // namespace
}  // namespace graphdbg::rules
