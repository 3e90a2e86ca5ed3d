#include "agent/recording/file_recording.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/recording/testing/recovered_rank.h"

namespace graphdbg::recording {
namespace {

using agent::RecordingOptions;
using agent::RecordKey;
using nlohmann::json;

class FileRecordingTest : public testing::Test {
 protected:
  FileRecordingTest() {
    std::filesystem::remove_all(runs_);
    options_.directory = runs_;
    options_.ring_bytes = uint64_t{1} << 20;
    options_.run = "job";
    options_.program = "train.py";
    options_.config_json = R"({"save": {"every": 2}})";
    hello_.set_rank(1);
    hello_.set_world_size(2);
    hello_.set_job("job");
    hello_.set_agent_version("1.2");
    hello_.set_host("here");
    hello_.set_pid(17);
    hello_.set_incarnation("a secret");
  }

  absl::StatusOr<std::unique_ptr<agent::Recording>> Open() {
    agent::RecordingCallbacks callbacks;
    callbacks.log = [this](const std::string& line) { lines_.push_back(line); };
    callbacks.take_graph_update = [this](v1::GraphUpdate* update) {
      if (graph_.empty()) return false;
      *update = graph_.back();
      graph_.pop_back();
      return true;
    };
    return OpenFileRecording(options_, hello_, std::move(callbacks));
  }

  static RecordKey KeyOf(uint64_t step, uint32_t node) {
    RecordKey key;
    key.step = step;
    key.node = node;
    key.mode = runs::Mode::kTrain;
    key.pass = 1;
    return key;
  }

  json Described(const std::string& file) {
    return json::parse(ReadFile(runs_ + "/job/" + file));
  }

  const std::string runs_ = testing::TempDir() + "/runs";
  const std::string rank_ = runs_ + "/job/rank-00001";
  RecordingOptions options_;
  v1::Hello hello_;
  std::vector<v1::GraphUpdate> graph_;
  std::vector<std::string> lines_;
};

TEST_F(FileRecordingTest, SaysWhatItIs) {
  const auto recording = Open();
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ((*recording)->directory(),
            std::filesystem::canonical(runs_ + "/job"));
  const json run = Described("run.json");
  EXPECT_EQ(run["format"], 1);
  EXPECT_EQ(run["run"], "job");
  EXPECT_EQ(run["program"], "train.py");
  EXPECT_EQ(run["world_size"], 2);
  EXPECT_TRUE(run["resumes"].is_null());
  const json rank = Described("rank-00001/rank.json");
  EXPECT_EQ(rank["rank"], 1);
  EXPECT_EQ(rank["host"], "here");
  EXPECT_EQ(rank["pid"], 17);
  EXPECT_EQ(rank["ring"], "ring.gdbr");
  EXPECT_EQ(rank["config"]["save"]["every"], 2);
  EXPECT_TRUE(rank["ended"].is_null());
  EXPECT_EQ(rank["incarnation"].get<std::string>().size(), 32u);
  EXPECT_FALSE(absl::StrContains(rank.dump(), "a secret"));
}

TEST_F(FileRecordingTest, WritesWhatRecordsReferToWithoutItsThread) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  agent::Recording& recording = **opened;
  for (const std::string name : {"first", "second"}) {
    graph_.emplace_back().set_graph(name);
    recording.AddCollectionLine(
        absl::StrCat(R"({"collection": ")", name, R"("})"));
    recording.WriteDescriptions();
    EXPECT_TRUE(absl::StrContains(ReadFile(rank_ + "/graph.gdbm"), name));
    EXPECT_TRUE(
        absl::StrContains(ReadFile(rank_ + "/collections.jsonl"), name));
  }
  recording.Close({}, "exit");
}

TEST_F(FileRecordingTest, HasEverythingInTheLogOnceItIsClosed) {
  graph_.emplace_back().set_graph("main");
  const auto opened = Open();
  agent::Recording& recording = **opened;
  agent::RecordedMark mark;
  mark.unix_ns = 5;
  mark.mode_step = 1;
  RecordKey step;
  step.step = 1;
  step.mode = runs::Mode::kTrain;
  EXPECT_TRUE(recording.AppendBegin(step, mark));
  Statistics statistics;
  statistics.count = 4;
  statistics.nan_count = 1;
  statistics.zero_count = 2;
  statistics.min = -1;
  statistics.mean = 0.5;
  EXPECT_TRUE(recording.AppendStatistics(KeyOf(1, 7), statistics, 8));
  agent::RecordedChange change;
  change.digest = 99;
  EXPECT_TRUE(recording.AppendChange(KeyOf(1, 7), change));
  v1::Hit hit;
  hit.set_watchpoint(3);
  hit.set_step(1);
  EXPECT_TRUE(recording.AppendHit(KeyOf(1, 7), hit));
  recording.AddCollectionLine(R"({"collection":"all"})");
  v1::OverviewStep times;
  times.set_step(1);
  times.mutable_ops()->add_node_ids(7);
  EXPECT_TRUE(recording.AppendOpTimes(times));
  v1::UserChange user_change;
  user_change.set_text("learning rate 0.1 -> 0");
  EXPECT_TRUE(recording.AppendUserChange(user_change));
  mark.records = 3;
  EXPECT_TRUE(recording.AppendEnd(step, mark));
  v1::Goodbye goodbye;
  goodbye.set_exit_code(2);
  goodbye.mutable_exception()->set_type("ValueError");
  EXPECT_TRUE(recording.Close(goodbye, "exception"));
  EXPECT_FALSE(recording.AppendEnd(step, mark));

  const RecoveredRank rank = Recover(rank_, rank_ + "/ring.gdbr");
  EXPECT_FALSE(std::filesystem::exists(rank_ + "/ring.gdbr"));
  ASSERT_EQ(rank.records.size(), 5u);
  EXPECT_EQ(rank.from_ring, 0u);
  EXPECT_EQ(rank.records.at(0).known_kind(), runs::Kind::kBegin);
  EXPECT_EQ(rank.records.at(0).pass, 0);
  EXPECT_EQ(rank.records.at(0).mark.unix_ns, 5u);
  const runs::Record& values = rank.records.at(1);
  EXPECT_EQ(values.node, 7u);
  EXPECT_EQ(values.mode, 1);
  EXPECT_EQ(values.pass, 1);
  EXPECT_EQ(values.statistics.nan_count, 1u);
  EXPECT_EQ(values.statistics.mean, 0.5);
  EXPECT_EQ(values.statistics.grad_scale, 8);
  EXPECT_EQ(rank.records.at(2).change.digest, 99u);
  EXPECT_TRUE(std::isnan(rank.records.at(2).change.change_l2));
  EXPECT_EQ(rank.records.at(3).hit.number, 1u);
  EXPECT_EQ(rank.records.at(3).hit.watchpoint, 3u);
  EXPECT_EQ(rank.records.at(4).mark.records, 3u);
  ASSERT_EQ(rank.hits.size(), 1u);
  EXPECT_EQ(rank.hits[0], hit.SerializeAsString());
  ASSERT_EQ(rank.op_times.size(), 1u);
  EXPECT_EQ(rank.op_times[0], times.SerializeAsString());
  ASSERT_EQ(rank.user_changes.size(), 1u);
  EXPECT_EQ(rank.user_changes[0], user_change.SerializeAsString());
  ASSERT_EQ(rank.graph.size(), 1u);
  EXPECT_EQ(ReadFile(rank_ + "/collections.jsonl"),
            "{\"collection\":\"all\"}\n");
  const json ended = Described("rank-00001/rank.json")["ended"];
  EXPECT_EQ(ended["reason"], "exception");
  EXPECT_EQ(ended["exit_code"], 2);
  EXPECT_EQ(ended["exception"]["type"], "ValueError");
  EXPECT_EQ(ended["records"], 5);
  EXPECT_TRUE(Described("rank-00001/rank.json")["ring"].is_null());
}

TEST_F(FileRecordingTest, LeavesOutWhatStatisticsDoNotHave) {
  const auto opened = Open();
  Statistics statistics;
  statistics.count = 2;
  statistics.zero_count = 2;
  statistics.min = -3;
  RecordKey light = KeyOf(1, 1);
  light.flags = runs::kFlagLight;
  (*opened)->AppendStatistics(light, statistics, 1);
  statistics.nan_count = 2;
  (*opened)->AppendStatistics(KeyOf(1, 2), statistics, 1);
  (*opened)->Close(v1::Goodbye(), "exit");
  const RecoveredRank rank = Recover(rank_, "");
  const runs::StatisticsFields& of_light = rank.records.at(0).statistics;
  EXPECT_EQ(of_light.count, 2u);
  EXPECT_EQ(of_light.zero_count, 0u);
  EXPECT_EQ(of_light.max, 0);
  EXPECT_EQ(of_light.abs_max, 3);
  EXPECT_TRUE(std::isnan(of_light.mean));
  EXPECT_TRUE(std::isnan(rank.records.at(1).statistics.min));
}

TEST_F(FileRecordingTest, OfARestartContinuesTheOneBefore) {
  (*Open())->Close(v1::Goodbye(), "exit");
  const auto again = Open();
  ASSERT_TRUE(again.ok());
  const json run = json::parse(ReadFile(runs_ + "/job.2/run.json"));
  EXPECT_EQ(run["resumes"], "job");
}

TEST_F(FileRecordingTest, WithoutANameIsNamedByProgramAndTime) {
  options_.run.clear();
  const auto opened = Open();
  ASSERT_TRUE(opened.ok());
  const std::string name =
      std::filesystem::path((*opened)->directory()).filename();
  EXPECT_EQ(name.rfind("train.py-20", 0), 0u) << name;
  EXPECT_EQ(name.size(), std::string("train.py-yyyymmdd-hhmmss-xxxx").size());
}

TEST_F(FileRecordingTest, RefusesWhatIsNoDirectory) {
  options_.directory = "s3://bucket/runs";
  EXPECT_TRUE(absl::IsInvalidArgument(Open().status()));
  options_.directory = "/proc/none";
  EXPECT_FALSE(Open().ok());
}

TEST_F(FileRecordingTest, IsInertInAForkedChild) {
  const auto opened = Open();
  agent::Recording& recording = **opened;
  EXPECT_TRUE(recording.AppendBegin(KeyOf(1, 0), {}));
  const pid_t child = fork();
  if (child == 0) {
    recording.GoInert();
    const bool appended = recording.AppendBegin(KeyOf(2, 0), {});
    recording.GraphChanged();
    recording.Close(v1::Goodbye(), "exit");
    _exit(appended || recording.records_dropped() != 0 ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(recording.AppendBegin(KeyOf(3, 0), {}));
  EXPECT_TRUE(recording.Close(v1::Goodbye(), "exit"));
  EXPECT_EQ(Recover(rank_, "").records.size(), 2u);
}

TEST_F(FileRecordingTest, GoesOnWithoutItsDirectory) {
  const auto opened = Open();
  std::filesystem::remove_all(runs_);
  (*opened)->AppendBegin(KeyOf(1, 0), {});
  EXPECT_TRUE((*opened)->Close(v1::Goodbye(), "exit"));
  ASSERT_FALSE(lines_.empty());
  EXPECT_TRUE(absl::StrContains(lines_[0], "recording: cannot"));
}

}  // namespace
}  // namespace graphdbg::recording
