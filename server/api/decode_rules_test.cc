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

}  // namespace
}  // namespace graphdbg::api
