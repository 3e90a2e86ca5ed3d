#include "server/api/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "server/base/error.h"

namespace graphdbg::api {
namespace {

TEST(DecodeControlTest, ReadsEveryCommand) {
  EXPECT_EQ(DecodeControl(R"({"command":"continue"})")->verb,
            model::ControlVerb::kContinue);
  EXPECT_EQ(DecodeControl(R"({"command":"next_node"})")->verb,
            model::ControlVerb::kNextNode);
  EXPECT_EQ(DecodeControl(R"({"command":"pause"})")->verb,
            model::ControlVerb::kPause);
  EXPECT_EQ(DecodeControl(R"({"command":"terminate"})")->verb,
            model::ControlVerb::kTerminate);
  EXPECT_EQ(DecodeControl(R"({"command":"recheck"})")->verb,
            model::ControlVerb::kRecheck);
  auto step = DecodeControl(R"({"command":"step","steps":5,"rank":3})");
  EXPECT_EQ(step->verb, model::ControlVerb::kStep);
  EXPECT_EQ(step->steps, 5u);
  EXPECT_EQ(step->rank, 3u);
  auto until = DecodeControl(R"({"command":"continue_to","node":"a/b"})");
  EXPECT_EQ(until->verb, model::ControlVerb::kContinueTo);
  EXPECT_EQ(until->node, "a/b");
  EXPECT_FALSE(until->pending);
  EXPECT_TRUE(
      DecodeControl(R"({"command":"continue_to","node":"a","pending":true})")
          ->pending);
}

TEST(DecodeControlTest, ReadsTheNodesToPassOver) {
  auto next = DecodeControl(
      R"({"command":"next_node","within":"a/b","other_line":true})");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->passed.within, "a/b");
  EXPECT_EQ(next->passed.outside, std::nullopt);
  EXPECT_TRUE(next->passed.other_line);
  next = DecodeControl(R"({"command":"next_node","outside":""})");
  EXPECT_EQ(next->passed.outside, "");
  EXPECT_TRUE(next->passed.any());
  EXPECT_FALSE(DecodeControl(R"({"command":"next_node"})")->passed.any());
}

TEST(DecodeControlTest, AbsentFieldsHaveDefaults) {
  auto step = DecodeControl(R"({"command":"step","steps":null})");
  EXPECT_EQ(step->steps, 1u);
  EXPECT_EQ(step->rank, std::nullopt);
}

TEST(DecodeControlTest, ErrorsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "command"},
      {R"({"command":"jump"})", "command"},
      {R"({"command":7})", "command"},
      {R"({"command":"step","steps":0})", "steps"},
      {R"({"command":"step","steps":-1})", "steps"},
      {R"({"command":"step","steps":1.5})", "steps"},
      {R"({"command":"step","steps":"5"})", "steps"},
      {R"({"command":"continue_to"})", "node"},
      {R"({"command":"step","rank":4294967296})", "rank"},
      {R"({"command":"step","count":2})", "count"},
      {R"({"command":"next_node","within":"a","outside":"b"})", "outside"},
      {R"({"command":"step","within":"a"})", "within"},
      {R"({"command":"step","other_line":false})", "other_line"},
  };
  for (const auto& [body, field] : cases) {
    absl::Status status = DecodeControl(body).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_EQ(FieldOf(status), field) << body;
  }
}

TEST(DecodeControlTest, WhatIsNoObjectIsBadJson) {
  for (const char* body : {"", "{", "[]", "7", "null", "{\"command\":}"}) {
    EXPECT_EQ(ReasonOf(DecodeControl(body).status()), "bad_json") << body;
  }
}

TEST(DecodeWatchpointTest, ReadsAllFields) {
  auto spec = DecodeWatchpoint(R"({
    "condition": {"id": "max_gt", "params": {"value": 2}},
    "nodes": ["a"], "scopes": ["b", "c"], "patterns": ["*/d"],
    "categories": ["weight", "gradient"], "pause": "step", "enabled": false,
    "once": true, "ignore_count": 3, "muted_until_step": 9, "group": "g",
    "actions": ["pause", "stop", "log", "record", "capture",
                {"record": {"level": "light", "collections": ["weights"],
                            "steps": 7}}]})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->once);
  EXPECT_EQ(spec->ignore_count, 3u);
  EXPECT_EQ(spec->muted_until_step, 9u);
  EXPECT_EQ(spec->group, "g");
  EXPECT_EQ(
      spec->actions,
      (std::vector<model::Action>{
          model::PauseAction(), model::StopAction(), model::LogAction(),
          model::RecordAction(), model::CaptureAction(),
          model::RecordAction{model::RecordLevel::kLight, {"weights"}, 7}}));
  EXPECT_EQ(spec->condition.id, "max_gt");
  EXPECT_EQ(spec->condition.params,
            (std::map<std::string, double>{{"value", 2}}));
  EXPECT_EQ(spec->selection.nodes, std::vector<std::string>{"a"});
  EXPECT_EQ(spec->selection.scopes, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(spec->selection.patterns, std::vector<std::string>{"*/d"});
  EXPECT_EQ(spec->selection.categories,
            (std::vector<model::Category>{model::Category::kWeight,
                                          model::Category::kGradient}));
  EXPECT_EQ(spec->pause, model::PauseMode::kStep);
  EXPECT_FALSE(spec->enabled);
}

TEST(DecodeWatchpointTest, SelectionsHaveMoreThanNames) {
  const auto spec = DecodeWatchpoint(R"({"condition":{"id":"nan"},
      "regexes":["a|b"],"op_types":["addmm"],"sources":["m.py:3"],
      "dtypes":["float16","float8_e5m2"],"ranks":[0,7],
      "exclude":{"scopes":["aux"],"ranks":[1],"categories":["weight"]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const model::Selection& selection = spec->selection;
  EXPECT_EQ(selection.regexes, std::vector<std::string>{"a|b"});
  EXPECT_EQ(selection.op_types, std::vector<std::string>{"addmm"});
  EXPECT_EQ(selection.sources, std::vector<std::string>{"m.py:3"});
  EXPECT_EQ(selection.dtypes,
            (std::vector<DType>{DType::kFloat16, DType::kFloat8E5m2}));
  EXPECT_EQ(selection.ranks, (std::vector<uint32_t>{0, 7}));
  EXPECT_EQ(selection.exclude.scopes, std::vector<std::string>{"aux"});
  EXPECT_EQ(selection.exclude.ranks, std::vector<uint32_t>{1});
  EXPECT_EQ(selection.exclude.categories,
            std::vector<model::Category>{model::Category::kWeight});
}

TEST(DecodeWatchpointTest, WrongEntriesOfASelectionAreNamed) {
  const auto field = [](const std::string& lists) {
    return FieldOf(
        DecodeWatchpoint(R"({"condition":{"id":"nan"},)" + lists + "}")
            .status());
  };
  EXPECT_EQ(field(R"("dtypes":["float32","half"])"), "dtypes[1]");
  EXPECT_EQ(field(R"("dtypes":["unspecified"])"), "dtypes[0]");
  EXPECT_EQ(field(R"("ranks":[0,-1])"), "ranks[1]");
  EXPECT_EQ(field(R"("exclude":{"dtypes":["x"]})"), "exclude.dtypes[0]");
  EXPECT_EQ(field(R"("exclude":{"exclude":{}})"), "exclude.exclude");
  EXPECT_EQ(field(R"("exclude":["a"])"), "exclude");
}

TEST(DecodeWatchpointTest, TheConditionAloneIsEnough) {
  auto spec = DecodeWatchpoint(R"({"condition":{"id":"nan"}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->condition.params.empty());
  EXPECT_EQ(spec->pause, model::PauseMode::kNode);
  EXPECT_TRUE(spec->enabled);
}

TEST(DecodeWatchpointTest, NumbersMayBeInfinite) {
  auto spec = DecodeWatchpoint(
      R"({"condition":{"id":"x","params":{"a":"Infinity","b":"NaN"}}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(std::isinf(spec->condition.params["a"]));
  EXPECT_TRUE(std::isnan(spec->condition.params["b"]));
}

TEST(DecodeWatchpointTest, ParametersMayBeTextsAndTruths) {
  auto spec = DecodeWatchpoint(
      R"({"condition":{"id":"x","params":{"e":"mean > 1","t":true,"f":false}}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->condition.text_params,
            (std::map<std::string, std::string>{{"e", "mean > 1"}}));
  EXPECT_EQ(spec->condition.params,
            (std::map<std::string, double>{{"t", 1}, {"f", 0}}));
}

TEST(DecodeWatchpointTest, ErrorsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "condition"},
      {R"({"condition":"nan"})", "condition"},
      {R"({"condition":{}})", "condition.id"},
      {R"({"condition":{"id":1}})", "condition.id"},
      {R"({"condition":{"id":"x","params":[]}})", "condition.params"},
      {R"({"condition":{"id":"x","params":{"v":[2]}}})", "condition.params.v"},
      {R"({"condition":{"id":"x","when":1}})", "condition.when"},
      {R"({"condition":{"id":"x"},"nodes":"a"})", "nodes"},
      {R"({"condition":{"id":"x"},"nodes":["a",1]})", "nodes[1]"},
      {R"({"condition":{"id":"x"},"categories":["weights"]})", "categories[0]"},
      {R"({"condition":{"id":"x"},"pause":"now"})", "pause"},
      {R"({"condition":{"id":"x"},"enabled":1})", "enabled"},
      {R"({"condition":{"id":"x"},"color":"red"})", "color"},
      {R"({"condition":{"id":"x"},"ignore_count":-1})", "ignore_count"},
      {R"({"condition":{"id":"x"},"muted_until_step":"9"})",
       "muted_until_step"},
      {R"({"condition":{"id":"x"},"actions":"log"})", "actions"},
      {R"({"condition":{"id":"x"},"actions":["log",{}]})", "actions[1]"},
      {R"({"condition":{"id":"x"},"actions":["catch"]})", "actions[0]"},
      {R"({"condition":{"id":"x"},"actions":[{"webhook":"http://a"}]})",
       "actions[0]"},
      {R"({"condition":{"id":"x"},"actions":[{"record":{"level":"off"}}]})",
       "actions[0].record.level"},
      {R"({"condition":{"id":"x"},"actions":[{"record":{"step":1}}]})",
       "actions[0].record.step"},
  };
  for (const auto& [body, field] : cases) {
    absl::Status status = DecodeWatchpoint(body).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_EQ(FieldOf(status), field) << body;
  }
}

TEST(DecodeWatchpointTest, WhatIsNotAvailableIsRefusedWithTheReason) {
  const auto message = [](const std::string& action) {
    return std::string(
        DecodeWatchpoint(R"({"condition":{"id":"x"},"actions":[)" + action +
                         "]}")
            .status()
            .message());
  };
  EXPECT_NE(message(R"({"command":["x"]})").find("configuration file"),
            std::string::npos);
}

TEST(DecodeWatchpointChangeTest, WhatIsNotGivenStays) {
  model::WatchpointSpec old;
  old.selection.nodes = {"a"};
  old.selection.scopes = {"s"};
  auto change = DecodeWatchpointChange(R"({"enabled":false})", old);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->enabled, false);
  EXPECT_FALSE(change->condition || change->selection || change->pause);
  change = DecodeWatchpointChange(R"({"nodes":["b"]})", old);
  ASSERT_TRUE(change.ok() && change->selection);
  EXPECT_EQ(change->selection->nodes, std::vector<std::string>{"b"});
  EXPECT_EQ(change->selection->scopes, std::vector<std::string>{"s"});
}

TEST(DecodeLoginTest, ReadsTheCode) {
  EXPECT_EQ(*DecodeLogin(R"({"code":"abc"})"), "abc");
  EXPECT_EQ(FieldOf(DecodeLogin(R"({"password":"abc"})").status()), "code");
}

}  // namespace
}  // namespace graphdbg::api
