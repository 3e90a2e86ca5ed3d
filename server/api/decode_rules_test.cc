#include "server/api/decode_rules.h"

#include <gtest/gtest.h>

#include "server/api/decode.h"
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

TEST(DecodeRulesTest, RulesOfAClassHaveNoExpression) {
  const auto added = DecodeLiveRules(
      R"({"rules": [{"name": "a", "class": "stalled_training",
                     "actions": ["pause"]}]})");
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(added->expressions.empty());
  ASSERT_EQ(added->reported.size(), 1u);
  EXPECT_EQ(added->reported[0].python_class, "stalled_training");
  EXPECT_EQ(added->reported[0].rule.spec.name, "a");
  EXPECT_EQ(added->reported[0].rule.actions,
            std::vector<model::RuleAction>{model::RuleAction::kPause});
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
                  "message": "m"}],
    "rules": [{"name": "a", "state": "failed", "observations": 5,
               "unknown": 1, "error": "e"}]})");
  ASSERT_TRUE(reports.ok()) << reports.status();
  ASSERT_EQ(reports->findings.size(), 1u);
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
