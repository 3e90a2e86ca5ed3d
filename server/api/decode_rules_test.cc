#include "server/api/decode_rules.h"

#include <gtest/gtest.h>

#include "server/api/decode.h"
#include "server/api/decode_reports.h"
#include "server/api/encode_run.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using model::SeriesPart;

TEST(DecodeRulesTest, ReadsEveryField) {
  const auto check = DecodeCheck(R"json({
    "rules": [{
      "name": "replicas drift",
      "when": "hi > lo",
      "select": {"collections": ["weights"], "exclude": ["bias"],
                 "categories": ["weight"]},
      "series": ["tensor"],
      "reduce": {"hi": "max(l2)", "lo": "min(l2)"},
      "for": 3,
      "cool_down": 0
}],
    "steps": {"from": 2},
    "ranks": [0, 1]
})json");
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->from, 2u);
  EXPECT_EQ(check->ranks.size(), 2u);
  ASSERT_EQ(check->rules.size(), 1u);
  const model::RuleSpec& rule = check->rules[0];
  EXPECT_EQ(rule.name, "replicas drift");
  EXPECT_EQ(rule.when, "hi > lo");
  EXPECT_EQ(rule.selection.collections, std::vector<std::string>{"weights"});
  EXPECT_EQ(rule.selection.exclude, std::vector<std::string>{"bias"});
  EXPECT_EQ(rule.selection.categories,
            std::vector<model::Category>{model::Category::kWeight});
  EXPECT_EQ(rule.series, std::vector<SeriesPart>{SeriesPart::kTensor});
  ASSERT_EQ(rule.reduce.size(), 2u);
  EXPECT_EQ(rule.reduce[0].first, "hi");
  EXPECT_EQ(rule.reduce[0].second, "max(l2)");
  EXPECT_EQ(rule.hold, 3u);
  EXPECT_EQ(rule.cool_down, 0u);
}

TEST(DecodeRulesTest, AbsentFieldsHaveDefaults) {
  const auto check =
      DecodeCheck(R"({"rules": [{"name": "a", "when": "l2 > 1"}]})");
  ASSERT_TRUE(check.ok()) << check.status();
  const model::RuleSpec& rule = check->rules[0];
  EXPECT_EQ(rule.series.size(), 3u);
  EXPECT_EQ(rule.hold, 1u);
  EXPECT_EQ(rule.cool_down, 10u);
}

TEST(DecodeRulesTest, ErrorsNameTheField) {
  const auto field = [](const std::string& body) {
    return FieldOf(DecodeCheck(body).status());
  };
  EXPECT_EQ(field(R"({"rules": []})"), "rules");
  EXPECT_EQ(field(R"({"rules": {}})"), "rules");
  EXPECT_EQ(field(R"({"rules": [1]})"), "rules[0]");
  EXPECT_EQ(field(R"({"rules": [{"when": "l2 > 1"}]})"), "rules[0].name");
  EXPECT_EQ(field(R"({"rules": [{"name": "a"}]})"), "rules[0].when");
  EXPECT_EQ(field(R"({"rules": [{"name": "a", "when": "b", "wen": 1}]})"),
            "rules[0].wen");
  EXPECT_EQ(field(R"({"rules": [{"name": "a", "when": "b", "for": 0}]})"),
            "rules[0].for");
  EXPECT_EQ(
      field(R"({"rules": [{"name": "a", "when": "b", "series": ["node"]}]})"),
      "rules[0].series[0]");
  EXPECT_EQ(
      field(R"({"rules": [{"name": "a", "when": "b", "reduce": {"c": 1}}]})"),
      "rules[0].reduce.c");
  EXPECT_EQ(
      field(R"({"rules": [{"name": "a", "when": "b", "select": {"x": []}}]})"),
      "rules[0].select.x");
  EXPECT_EQ(field(R"({"rules": [{"name": "a", "when": "b"}],
                      "watchpoint": {"condition": {"id": "nan"}}})"),
            "rules");
}

TEST(DecodeRulesTest, ARuleMayBeBuiltIn) {
  const auto check = DecodeCheck(R"({"rules": [
      {"rule": "vanishing_gradient", "params": {"threshold": 0.5}, "for": 2},
      {"rule": "exploding_tensor", "name": "nan", "params": {"only_nan": true},
       "select": {"nodes": ["a"]}},
      {"rule": "poor_weight_initialization"}]})");
  ASSERT_TRUE(check.ok()) << check.status();
  ASSERT_EQ(check->rules.size(), 5u);
  const model::RuleSpec& vanishing = check->rules[0];
  EXPECT_EQ(vanishing.name, "vanishing_gradient");
  EXPECT_EQ(vanishing.when, "abs_mean < 0.5 && count > 0");
  EXPECT_EQ(vanishing.selection.collections,
            std::vector<std::string>{"gradients"});
  EXPECT_EQ(vanishing.hold, 2u);
  EXPECT_EQ(vanishing.base, "vanishing_gradient");
  EXPECT_FALSE(vanishing.advice->causes.empty());
  EXPECT_EQ(check->rules[1].name, "nan");
  EXPECT_EQ(check->rules[1].when, "nan_count > 0");
  EXPECT_EQ(check->rules[1].selection.nodes, std::vector<std::string>{"a"});
  EXPECT_EQ(check->rules[2].name, "poor_weight_initialization (1)");
  EXPECT_EQ(check->rules[2].reduce.size(), 2u);
  EXPECT_EQ(check->rules[4].name, "poor_weight_initialization (3)");
}

TEST(DecodeRulesTest, ErrorsOfBuiltInRulesNameTheField) {
  const auto field = [](const std::string& rule) {
    return FieldOf(DecodeCheck(R"({"rules": [)" + rule + "]}").status());
  };
  EXPECT_EQ(field(R"({"rule": "vanishing"})"), "rules[0].rule");
  EXPECT_EQ(field(R"({"rule": "overfit"})"), "rules[0].rule");
  EXPECT_EQ(field(R"({"rule": "slow_step", "when": "step > 1"})"),
            "rules[0].when");
  EXPECT_EQ(field(R"({"rule": "slow_step", "params": {"windw": 3}})"),
            "rules[0].params.windw");
  EXPECT_EQ(field(R"({"rule": "slow_step", "params": {"window": 2.5}})"),
            "rules[0].params.window");
  EXPECT_EQ(field(R"({"rule": "slow_step", "params": {"window": "x"}})"),
            "rules[0].params.window");
  EXPECT_EQ(field(R"({"rule": "all_zero"})"), "rules[0].select");
  EXPECT_EQ(field(R"({"rule": "tensor_variance", "select": {}})"),
            "rules[0].params");
  EXPECT_EQ(field(R"({"rule": "poor_weight_initialization", "select": {}})"),
            "rules[0].rule");
  EXPECT_EQ(field(R"({"name": "a", "when": "step > 1", "base": "x"})"),
            "rules[0].base");
}

TEST(DecodeRulesTest, LiveRulesComeBackAsTheyWere) {
  const std::string text = R"({"rules": [
      {"name": "a", "when": "l2 > 1", "base": "slow_step", "act_from": 7,
       "actions": ["pause", {"record": {"steps": 3}}]},
      {"rule": "replicas_disagree", "cool_down": 0}]})";
  const auto decoded = DecodeLiveRules(text);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const std::vector<model::LiveRule>& rules = decoded->expressions;
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].act_from, 7u);
  EXPECT_EQ(rules[0].actions.size(), 2u);
  EXPECT_FALSE(rules[1].act_from.has_value());
  const std::string encoded = EncodeRules(rules);
  const auto again = DecodeLiveRules(encoded);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(EncodeRules(again->expressions), encoded);
  EXPECT_EQ(again->expressions[1].spec.base, "replicas_disagree");
  EXPECT_EQ(again->expressions[1].spec.advice, rules[1].spec.advice);
}

TEST(DecodeRulesTest, RulesOfAClassHaveNoExpression) {
  const auto added = DecodeLiveRules(
      R"({"rules": [{"name": "a", "class": "stalled_training",
                     "actions": ["pause"]}]})");
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(added->expressions.empty());
  ASSERT_EQ(added->reported.size(), 1u);
  EXPECT_EQ(added->reported[0].python_class, "stalled_training");
  EXPECT_EQ(added->reported[0].rule.spec.name, "a");
  ASSERT_EQ(added->reported[0].rule.actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<model::PauseAction>(
      added->reported[0].rule.actions[0]));
  const auto field = [](const std::string& body) {
    return FieldOf(DecodeLiveRules(body).status());
  };
  EXPECT_EQ(field(R"({"rules": [{"name": "a", "class": "b", "when": "c"}]})"),
            "rules[0].when");
  EXPECT_EQ(field(R"({"rules": [{"name": "a", "class": "b"},
                                {"name": "c", "when": "l2 > 1"}]})"),
            "rules");
}

TEST(DecodeRulesTest, ReadsReports) {
  const auto reports = DecodeReports(R"({
    "findings": [{"rule": "a", "rank": null, "tensor": "x:0", "mode": "eval",
                  "step": 3, "values": {"loss": "NaN", "n": 2},
                  "message": "m", "advice": {"causes": ["c"], "next": []}},
                 {"rule": "a", "step": 4, "advice": null}],
    "rules": [{"name": "a", "state": "failed", "observations": 5,
               "unknown": 1, "error": "e"}]})");
  ASSERT_TRUE(reports.ok()) << reports.status();
  ASSERT_EQ(reports->findings.size(), 2u);
  EXPECT_EQ(reports->findings[0].advice->causes, std::vector<std::string>{"c"});
  EXPECT_EQ(reports->findings[1].advice, nullptr);
  const model::Finding& finding = reports->findings[0];
  EXPECT_FALSE(finding.rank.has_value());
  EXPECT_EQ(finding.tensor, "x:0");
  EXPECT_EQ(finding.mode, model::RunMode::kEval);
  EXPECT_EQ(finding.values.at("n"), 2);
  ASSERT_EQ(reports->progress.size(), 1u);
  EXPECT_EQ(reports->progress[0].state, model::CheckState::kFailed);
  EXPECT_EQ(reports->progress[0].observations, 5u);
  EXPECT_EQ(reports->progress[0].error, "e");
  EXPECT_EQ(FieldOf(DecodeReports(R"({"findings": [{"step": 1}]})").status()),
            "findings[0].rule");
}

}  // namespace
}  // namespace graphdbg::api
