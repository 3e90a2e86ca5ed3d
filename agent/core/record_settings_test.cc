#include "agent/core/record_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace graphdbg::agent {
namespace {

class RecordSettingsTest : public testing::Test {
 protected:
  RecordSettings Read() {
    return ReadRecordSettings(
        [this](const char* name) -> const char* {
          const auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        &problems_);
  }

  std::map<std::string, std::string> variables_;
  std::vector<std::string> problems_;
};

TEST_F(RecordSettingsTest, ABlackBoxKeepsTheLastStepsOfEveryOp) {
  variables_["GRAPHDBG_BLACK_BOX"] = "/box";
  RecordSettings settings = Read();
  EXPECT_EQ(settings.directory, "/box");
  EXPECT_FALSE(settings.keep_all);
  EXPECT_EQ(settings.ring_steps, 100u);
  EXPECT_EQ(settings.ring_bytes, uint64_t{32} << 20);
  EXPECT_EQ(settings.overhead, 0);
  ASSERT_EQ(settings.collections.size(), 1u);
  EXPECT_EQ(settings.collections[0].name, "all");
  EXPECT_EQ(settings.collections[0].level, RecordLevel::kLight);
  // Whatever is configured is used.
  variables_["GRAPHDBG_RING"] = "1MiB";
  variables_["GRAPHDBG_RECORD_SETTINGS"] =
      R"({"record": {"to": "elsewhere", "keep": "all", "overhead": 0.1},
          "collections": [{"name": "losses", "level": "statistics"}]})";
  settings = Read();
  EXPECT_EQ(settings.directory, "/box");
  EXPECT_FALSE(settings.keep_all);
  EXPECT_EQ(settings.ring_steps, 0u);
  EXPECT_EQ(settings.ring_bytes, uint64_t{1} << 20);
  EXPECT_EQ(settings.overhead, 0.1);
  EXPECT_EQ(settings.collections[0].name, "losses");
  EXPECT_TRUE(problems_.empty());
  variables_["GRAPHDBG_RECORD"] = "/runs";
  settings = Read();
  EXPECT_EQ(settings.directory, "/runs");
  EXPECT_TRUE(settings.keep_all);
  EXPECT_EQ(problems_.size(), 1u);
}

TEST_F(RecordSettingsTest, RecordsNothingByDefault) {
  const RecordSettings settings = Read();
  EXPECT_FALSE(settings.on());
  EXPECT_EQ(settings.ring_bytes, uint64_t{32} << 20);
  EXPECT_EQ(settings.overhead, 0.05);
  std::vector<std::string> names;
  for (const CollectionSettings& each : settings.collections) {
    names.push_back(each.name);
    EXPECT_EQ(each.level, RecordLevel::kStatistics);
  }
  EXPECT_EQ(names, DefaultCollections(/*black_box=*/false));
}

TEST_F(RecordSettingsTest, ReadsVariables) {
  variables_ = {{"GRAPHDBG_RECORD", "runs"},
                {"GRAPHDBG_RECORD_KEEP", "ring"},
                {"GRAPHDBG_RING", "2MiB"},
                {"GRAPHDBG_RING_DIR", "/fast"},
                {"GRAPHDBG_RECORD_OVERHEAD", "0.2"},
                {"TORCHELASTIC_RUN_ID", "none"},
                {"SLURM_JOB_ID", "17"}};
  const RecordSettings settings = Read();
  EXPECT_EQ(settings.directory, "runs");
  EXPECT_FALSE(settings.keep_all);
  EXPECT_EQ(settings.ring_bytes, uint64_t{2} << 20);
  EXPECT_EQ(settings.ring_directory, "/fast");
  EXPECT_EQ(settings.overhead, 0.2);
  EXPECT_EQ(settings.run, "17");
  EXPECT_TRUE(problems_.empty());
}

TEST_F(RecordSettingsTest, VariablesWinOverTheFile) {
  variables_ = {{"GRAPHDBG_RECORD", "there"},
                {"GRAPHDBG_RECORD_SETTINGS",
                 R"({"record": {"to": "here", "keep": "ring", "ring": "1MiB",
                      "when_full": "block", "after_hit": 3}})"}};
  const RecordSettings settings = Read();
  EXPECT_EQ(settings.directory, "there");
  EXPECT_FALSE(settings.keep_all);
  EXPECT_EQ(settings.ring_bytes, uint64_t{1} << 20);
  EXPECT_TRUE(settings.block);
  EXPECT_EQ(settings.after_hit, 3u);
}

TEST_F(RecordSettingsTest, SaysWhatItIgnores) {
  variables_ = {{"GRAPHDBG_RECORD_KEEP", "some"},
                {"GRAPHDBG_RING", "5GiB"},
                {"GRAPHDBG_RECORD_OVERHEAD", "2"},
                {"GRAPHDBG_RECORD_SETTINGS", R"({"record": {"keep": 1}})"}};
  const RecordSettings settings = Read();
  EXPECT_TRUE(settings.keep_all);
  EXPECT_EQ(settings.ring_bytes, uint64_t{32} << 20);
  EXPECT_EQ(settings.overhead, 0.05);
  ASSERT_EQ(problems_.size(), 4u);
  EXPECT_TRUE(absl::StrContains(problems_[0], "keep: expected ring or all"));
  EXPECT_TRUE(absl::StrContains(problems_[1], "GRAPHDBG_RECORD_KEEP=some"));
  EXPECT_TRUE(absl::StrContains(problems_[2], "1MiB to 4GiB"));
  EXPECT_TRUE(absl::StrContains(problems_[3], "from 0 to 1"));
}

TEST(RecordJson, ReadsCollections) {
  RecordSettings settings;
  ASSERT_TRUE(ReadRecordJson(
                  R"({"record": "runs", "reductions": {"digest": true},
                      "collections": [{"name": "x", "level": "light",
                        "include": ["a.*"], "exclude": ["b"],
                        "op_types": ["aten::relu"], "nodes": ["n"],
                        "scopes": ["s"], "patterns": ["p"],
                        "categories": ["weight"], "kinds": ["op"],
                        "read_by": ["Tanh"]}]})",
                  &settings)
                  .ok());
  EXPECT_EQ(settings.directory, "runs");
  ASSERT_EQ(settings.collections.size(), 1u);
  const CollectionSettings& x = settings.collections[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.level, RecordLevel::kLight);
  EXPECT_TRUE(x.digest);
  EXPECT_EQ(x.include, std::vector<std::string>{"a.*"});
  EXPECT_EQ(x.exclude, std::vector<std::string>{"b"});
  EXPECT_EQ(x.op_types, std::vector<std::string>{"aten::relu"});
  EXPECT_EQ(x.kinds, std::vector<std::string>{"op"});
  EXPECT_EQ(x.read_by, std::vector<std::string>{"Tanh"});
  EXPECT_EQ(x.nodes.nodes, std::vector<std::string>{"n"});
  EXPECT_EQ(x.nodes.categories,
            std::vector<conditions::Category>{conditions::Category::kWeight});
}

TEST(RecordJson, ReadsWatchpoints) {
  RecordSettings settings;
  ASSERT_TRUE(
      ReadRecordJson(
          R"({"watchpoints": ["nan", "tensor_too_large:mean_gt=1:max_gt=9",
               "expr:abs_max > 1e3",
               {"condition": {"id": "inf", "params": {"absorbed": true}},
                "scopes": ["forward"], "enabled": false}]})",
          &settings)
          .ok());
  ASSERT_EQ(settings.watchpoints.size(), 4u);
  EXPECT_EQ(settings.watchpoints[0].id(), 1u);
  EXPECT_EQ(settings.watchpoints[0].condition().id(), "nan");
  EXPECT_EQ(settings.watchpoints[0].pause(), v1::PAUSE_MODE_NONE);
  EXPECT_EQ(settings.watchpoints[1].condition().params().at("max_gt"), 9);
  EXPECT_EQ(settings.watchpoints[2].condition().text_params().at("expression"),
            "abs_max > 1e3");
  EXPECT_EQ(settings.watchpoints[3].selection().scopes(0), "forward");
  EXPECT_FALSE(settings.watchpoints[3].enabled());
}

TEST(RecordJson, RefusesWhatItCannotUse) {
  for (const char* json :
       {"[]", "{", R"({"record": 1})", R"({"record": {"level": "much"}})",
        R"({"save": {"every": 0}})", R"({"save": {"steps": 1}})",
        R"({"collections": {}})", R"({"collections": [{}]})",
        R"({"collections": [{"name": "x", "categories": ["y"]}]})",
        R"({"watchpoints": ["no_such_condition"]})",
        R"({"watchpoints": [{}]})"}) {
    RecordSettings settings;
    const absl::Status status = ReadRecordJson(json, &settings);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
    EXPECT_TRUE(absl::StrContains(status.message(), "expected")) << json;
  }
}

TEST(RecordJson, LimitsTheNumberOfCollections) {
  nlohmann::json json = {{"collections", nlohmann::json::array()}};
  for (size_t i = 0; i <= kMaxCollections; ++i) {
    json["collections"].push_back({{"name", "x"}});
  }
  RecordSettings settings;
  EXPECT_FALSE(ReadRecordJson(json.dump(), &settings).ok());
}

TEST(RecordJson, FillsInDefaults) {
  RecordSettings settings;
  ASSERT_TRUE(ReadRecordJson(R"({"record": {"level": "light"},
                                 "watchpoints": ["nan"]})",
                             &settings)
                  .ok());
  settings.directory = "there";
  const auto json = nlohmann::json::parse(EffectiveJson(settings));
  EXPECT_EQ(json["record"]["to"], "there");
  EXPECT_EQ(json["record"]["level"], "light");
  EXPECT_EQ(json["record"]["keep"], "all");
  EXPECT_EQ(json["record"]["parquet"], "auto");
  EXPECT_EQ(json["collections"].size(),
            DefaultCollections(/*black_box=*/false).size());
  EXPECT_EQ(json["collections"][0]["level"], "light");
  EXPECT_FALSE(json.contains("watchpoints"));
}

TEST(RecordJson, FillsInWhatEachCollectionInherits) {
  RecordSettings settings;
  ASSERT_TRUE(ReadRecordJson(R"({
      "save": {"every": 10, "eval": {"every": 100}},
      "reductions": {"digest": true},
      "collections": [
          {"name": "weights", "level": "tensors", "save": {"start": 5}},
          {"name": "x", "include": ["relu"], "reductions": {"units":
              {"axis": 1, "from": 0, "to": null}}}]})",
                             &settings)
                  .ok());
  const auto json = nlohmann::json::parse(EffectiveJson(settings));
  EXPECT_EQ(json["record"]["level"], "statistics");
  EXPECT_EQ(json["save"], nlohmann::json::parse(R"({
      "every": 10, "start": 1, "end": null, "steps": [], "eval":
      {"every": 100, "start": 1, "end": null, "steps": []}})"));
  const auto& weights = json["collections"][0];
  EXPECT_EQ(weights["level"], "tensors");
  EXPECT_EQ(weights["save"]["every"], 10);
  EXPECT_EQ(weights["save"]["start"], 5);
  EXPECT_EQ(weights["save"]["eval"]["every"], 100);
  const auto& other = json["collections"][1];
  EXPECT_EQ(other["level"], "statistics");
  EXPECT_EQ(other["include"], nlohmann::json({"relu"}));
  EXPECT_EQ(other["reductions"], nlohmann::json::parse(R"({
      "digest": true, "change": false,
      "units": {"axis": 1, "from": 0.0, "to": null, "below": 1.0}})"));
}

}  // namespace
}  // namespace graphdbg::agent
