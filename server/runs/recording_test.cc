#include "server/runs/recording.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/runs/last_ops.h"
#include "proto/runs/layout.h"
#include "server/base/error.h"
#include "server/runs/testing/run_writer.h"

namespace graphdbg::recorded {
namespace {

using testing::NodeName;
using testing::RankWriter;

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() : path_(EmptyFolder()) {}
  ~RecordingTest() override { std::filesystem::remove_all(path_); }

  static std::string EmptyFolder() {
    const std::string path =
        ::testing::TempDir() + "/" +
        ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    return path;
  }
  Recording Open() {
    Recording recording("abc", *Folder::Open(path_), nullptr);
    recording.Refresh();
    return recording;
  }
  // A run of 10 steps of three ops, whose values are the step's number.
  RankWriter& WriteTenSteps() {
    writer_.WriteInfo();
    writer_.WriteGraph(3);
    for (uint64_t step = 1; step <= 10; ++step) {
      writer_.Step(step, 3, static_cast<double>(step));
    }
    writer_.WriteSegment();
    return writer_;
  }

  const std::string path_;
  RankWriter writer_{path_, 0};
};

std::vector<uint64_t> NumbersOf(const model::StepPage& page) {
  std::vector<uint64_t> numbers;
  for (const auto& step : page.steps) numbers.push_back(step.step);
  return numbers;
}

TEST_F(RecordingTest, DescribesARunThatHasEnded) {
  WriteTenSteps();
  Recording recording = Open();
  const model::Run run = recording.Describe();
  EXPECT_EQ(run.job.state, model::JobState::kFinished);
  EXPECT_EQ(run.first_step, 1u);
  EXPECT_EQ(run.last_step, 10u);
  EXPECT_EQ(run.ended, "exit");
  EXPECT_EQ(run.job.exit_code, 0);
  ASSERT_EQ(run.job.ranks.size(), 1u);
  EXPECT_EQ(run.job.ranks[0].host, "gpu7");
  EXPECT_TRUE(run.damage.empty());
}

TEST_F(RecordingTest, SaysWhichStepsAreOnlyInParquet) {
  WriteTenSteps();
  const std::string parquet = path_ + "/parquet/records/rank=0";
  std::filesystem::create_directories(parquet);
  std::ofstream(parquet + "/00000000-00000010.parquet");
  EXPECT_TRUE(Open().Describe().damage.empty());
  std::ofstream(parquet + "/00000011-00000020.parquet");
  Recording recording = Open();
  const auto damage = recording.Describe().damage;
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_EQ(damage.begin()->first, path_ + "/parquet");
  EXPECT_EQ(damage.begin()->second.find("steps 1 to 20 of rank 0 are packed"),
            0u);
  model::CheckSpec check;
  check.watchpoint.condition.id = "nan";
  EXPECT_EQ(ReasonOf(recording.PrepareCheck(check).status()), "packed");
  check.to = 10;
  EXPECT_TRUE(recording.PrepareCheck(check).ok());
}

TEST_F(RecordingTest, SaysThatAllOfALogIsInParquet) {
  writer_.WriteInfo();
  const std::string parquet = path_ + "/parquet/records/rank=0";
  std::filesystem::create_directories(parquet);
  std::ofstream(parquet + "/00000001-00000020.parquet");
  Recording recording = Open();
  EXPECT_EQ(recording.Describe().damage.size(), 1u);
  model::CheckSpec check;
  check.watchpoint.condition.id = "nan";
  EXPECT_EQ(ReasonOf(recording.PrepareCheck(check).status()), "packed");
}

TEST_F(RecordingTest, ListsStepsPageByPage) {
  WriteTenSteps();
  Recording recording = Open();
  model::StepQuery query;
  query.limit = 4;
  const auto first = recording.Steps(query);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(NumbersOf(*first), (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(first->steps[0].mode, model::RunMode::kTrain);
  EXPECT_EQ(first->steps[0].records, 3u);
  EXPECT_NEAR(first->steps[0].seconds.value(), 0.025, 1e-9);
  query.cursor = first->next_cursor;
  EXPECT_EQ(NumbersOf(*recording.Steps(query)),
            (std::vector<uint64_t>{5, 6, 7, 8}));
  query.cursor = "x";
  EXPECT_EQ(ReasonOf(recording.Steps(query).status()), "invalid_cursor");
}

TEST_F(RecordingTest, PassesOfEvaluationAreAnEntryOfTheirOwn) {
  writer_.Begin(1);
  for (uint16_t pass = 1; pass <= 2; ++pass) {
    writer_.Begin(1, runs::Mode::kEval, pass);
    writer_.Statistics(1, 1, 5);
    writer_.last().mode = static_cast<uint8_t>(runs::Mode::kEval);
    writer_.End(1, runs::Mode::kEval, pass);
  }
  writer_.Statistics(1, 1, 7);
  writer_.End(1);
  writer_.WriteSegment();
  writer_.WriteGraph(1);
  Recording recording = Open();
  const auto page = recording.Steps({});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->steps.size(), 2u);
  EXPECT_EQ(page->steps[0].mode, model::RunMode::kTrain);
  EXPECT_EQ(page->steps[1].mode, model::RunMode::kEval);
  EXPECT_EQ(page->steps[1].passes, 2u);
  const auto tensors = recording.Tensors(NodeName(1), 0, 1);
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ((*tensors)[0].statistics->mean, 7);
}

TEST_F(RecordingTest, StepsOfSeveralLengthsAreFound) {
  uint64_t expected = 0;
  for (uint64_t step = 1; step <= 50; ++step) {
    writer_.Step(step, static_cast<uint32_t>(step * 7 % 41), 1);
    expected += step * 7 % 41 + 2;
  }
  writer_.WriteSegment(0, 300);
  writer_.WriteSegment(300);
  Recording recording = Open();
  const auto page = recording.Steps({});
  ASSERT_EQ(page->steps.size(), 50u);
  for (const auto& step : page->steps) {
    EXPECT_EQ(step.records, step.step * 7 % 41) << step.step;
  }
  EXPECT_EQ(writer_.size(), expected);
}

TEST_F(RecordingTest, WhatOnlyTheRingHasIsRecovered) {
  for (uint64_t step = 1; step <= 10; ++step) writer_.Step(step, 3, 1);
  writer_.WriteSegment(0, 20, true);
  writer_.WriteRing(64);
  writer_.WriteInfo("", false);
  Recording recording = Open();
  const model::Run run = recording.Describe();
  EXPECT_EQ(run.ended, "lost");
  EXPECT_EQ(run.job.state, model::JobState::kLost);
  EXPECT_EQ(run.last_step, 10u);
  EXPECT_EQ(recording.Steps({})->steps.size(), 10u);
}

TEST_F(RecordingTest, ARingAloneHasTheLastSteps) {
  for (uint64_t step = 1; step <= 100; ++step) writer_.Step(step, 3, 1);
  writer_.WriteRing(64);
  Recording recording = Open();
  const auto steps = NumbersOf(*recording.Steps({}));
  EXPECT_EQ(steps.back(), 100u);
  EXPECT_EQ(steps.size(), 13u);
}

TEST_F(RecordingTest, ARingElsewhereMustBeThatOfTheRank) {
  writer_.Step(1, 3, 1);
  writer_.WriteRing(64);
  const std::string own = writer_.path() + "/" + runs::kRingFile;
  const std::string elsewhere = writer_.path() + "/../elsewhere";
  std::filesystem::rename(own, elsewhere);
  std::string ops(runs::kLastOpsFileBytes, '\0');
  const runs::LastOpsHeader header;
  std::memcpy(ops.data(), &header, sizeof header);
  writer_.WriteFile("../elsewhere.ops", ops);
  const auto name_ring = [&](const std::string& incarnation) {
    writer_.WriteInfo(
        absl::StrCat("\"ring\": \"", elsewhere, "\", \"incarnation\": \"",
                     incarnation, "\""),
        /*ended=*/false);
  };
  name_ring(std::string(32, '0'));
  {
    Recording recording = Open();
    EXPECT_EQ(recording.Steps({})->steps.size(), 1u);
    EXPECT_TRUE(recording.LastOps().empty());
    EXPECT_TRUE(recording.Describe().damage.empty());
  }
  name_ring("01" + std::string(30, '0'));
  Recording recording = Open();
  EXPECT_TRUE(recording.Steps({})->steps.empty());
  EXPECT_TRUE(recording.LastOps().empty());
  // The ring, and the file of last ops.
  const model::Run run = recording.Describe();
  ASSERT_EQ(run.damage.size(), 2u);
  for (const auto& [file, reason] : run.damage) {
    EXPECT_TRUE(absl::StrContains(reason, "another process")) << file;
  }
}

TEST_F(RecordingTest, ATornTailAndADamagedRecordCostOnlyThemselves) {
  WriteTenSteps();
  const std::string segment = writer_.path() + "/log/" + runs::SegmentFile(0);
  std::filesystem::resize_file(segment,
                               std::filesystem::file_size(segment) - 100);
  {
    std::fstream file(segment, std::ios::in | std::ios::out);
    file.seekp(64 + 7 * 160 + 40);
    file.put('x');
  }
  Recording recording = Open();
  EXPECT_EQ(recording.Steps({})->steps.size(), 10u);
  const auto history = recording.History({NodeName(2), 0, 0, 0, 100, 2000});
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->points.size(), 9u);
}

TEST_F(RecordingTest, DamagedFilesAreNamedAndTheRestIsRead) {
  WriteTenSteps();
  writer_.WriteFile("rank.json", "{\"format\": 2}");
  writer_.WriteFile("hits.gdbm", std::string(64, 'x'));
  writer_.WriteFile("log/00000000000000000999.gdbl", "GDBGLOG\x02 later");
  Recording recording = Open();
  recording.hits();
  const model::Run run = recording.Describe();
  EXPECT_EQ(run.damage.size(), 3u);
  EXPECT_EQ(run.last_step, 10u);
  for (const auto& [path, reason] : run.damage) EXPECT_FALSE(reason.empty());
}

TEST_F(RecordingTest, LinksAndPipesAreRefused) {
  WriteTenSteps();
  const std::string graph = writer_.path() + "/graph.gdbm";
  std::filesystem::rename(graph, path_ + "/elsewhere");
  ASSERT_EQ(symlink((path_ + "/elsewhere").c_str(), graph.c_str()), 0);
  ASSERT_EQ(mkfifo((writer_.path() + "/hits.gdbm").c_str(), 0600), 0);
  Recording recording = Open();
  EXPECT_EQ(recording.graph().node_count(), 0u);
  recording.hits();
  EXPECT_EQ(recording.Describe().damage.size(), 2u);
}

TEST_F(RecordingTest, TensorsHaveTheStatisticsOfTheStepOrTheNewestBefore) {
  WriteTenSteps();
  Recording recording = Open();
  const auto at = recording.Tensors(NodeName(2), 0, 4);
  ASSERT_TRUE(at.ok()) << at.status();
  ASSERT_EQ(at->size(), 2u);
  EXPECT_EQ((*at)[0].role, "input");
  EXPECT_EQ((*at)[1].statistics->mean, 4);
  EXPECT_EQ((*at)[1].statistics_step, 4u);
  EXPECT_EQ((*recording.Tensors(NodeName(2), 0, 99))[1].statistics_step, 10u);
  EXPECT_EQ(ReasonOf(recording.Tensors(NodeName(2), 3, 4).status()),
            "unknown_rank");
}

TEST_F(RecordingTest, ALongHistoryHasBuckets) {
  WriteTenSteps();
  Recording recording = Open();
  const auto all = recording.History({NodeName(1), 0, 0, 3, 7, 2000});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->points.size(), 5u);
  EXPECT_EQ(all->points[0].step, 3u);
  EXPECT_EQ(all->points[0].statistics.mean, 3);
  const auto few = recording.History({NodeName(1), 0, 0, 0, 100, 3});
  EXPECT_TRUE(few->points.empty());
  ASSERT_EQ(few->buckets.size(), 3u);
  EXPECT_EQ(few->buckets[0].first.step, 1u);
  EXPECT_EQ(few->buckets[2].greatest.statistics.max, 10);
}

TEST_F(RecordingTest, ReadsExactlyTheSliceOfASavedTensor) {
  WriteTenSteps();
  writer_.WriteTensor(5, 1, {0, 1, 2, 3, 4, 5}, {2, 3});
  writer_.WriteSegment();
  Recording recording = Open();
  model::TensorQuery query;
  query.node = NodeName(1);
  query.version = model::TensorQuery::Version::kStep;
  query.step = 5;
  query.slice = "[:, ::2]";
  const auto value = recording.Tensor(query, std::nullopt);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->slice_shape, (std::vector<int64_t>{2, 2}));
  const float* const values =
      reinterpret_cast<const float*>(value->data.data());
  EXPECT_EQ(std::vector<float>(values, values + 4),
            (std::vector<float>{0, 2, 3, 5}));
  query.step = 8;
  const auto missing = recording.Tensor(query, std::nullopt);
  EXPECT_EQ(ReasonOf(missing.status()), "not_recorded");
  EXPECT_NE(missing.status().message().find("nearest recorded step is 5"),
            std::string::npos)
      << missing.status();
  query.version = model::TensorQuery::Version::kPrevious;
  EXPECT_EQ(recording.Tensor(query, 8)->step, 5u);
}

TEST_F(RecordingTest, StatisticsOfAStepAreColumns) {
  WriteTenSteps();
  Recording recording = Open();
  const auto file = recording.Statistics({2, 0, {}, {}});
  ASSERT_TRUE(file.ok()) << file.status();
  uint64_t size;
  std::memcpy(&size, file->data() + 8, 8);
  const auto header = nlohmann::json::parse(file->substr(16, size));
  EXPECT_EQ(header["records"], 3);
  const auto column = header["columns"]["mean"];
  EXPECT_EQ(column["type"], "f64");
  double mean;
  std::memcpy(&mean, file->data() + 16 + size + column["offset"].get<int>(), 8);
  EXPECT_EQ(mean, 2);
  EXPECT_EQ(ReasonOf(recording.Statistics({77, 0, {}, {}}).status()),
            "unknown_step");
}

TEST_F(RecordingTest, HitsAreThoseOfAllRanks) {
  WriteTenSteps();
  v1::Hit hit;
  hit.set_watchpoint(1);
  hit.set_step(4);
  hit.set_node_id(2);
  writer_.WriteHits({hit, hit});
  Recording recording = Open();
  EXPECT_EQ(recording.hits().kept(), 2u);
  EXPECT_EQ(recording.hits().Newest(1)[0].node, NodeName(2));
}

TEST_F(RecordingTest, HasTheTimesOfOps) {
  WriteTenSteps();
  v1::OverviewStep step;
  step.set_step(4);
  step.set_duration_ns(900);
  // The second one is no node of the graph.
  for (const uint32_t node : {2, 4'000}) {
    step.mutable_ops()->add_node_ids(node);
    step.mutable_ops()->add_start_ns(100);
    step.mutable_ops()->add_duration_ns(50);
    step.mutable_ops()->add_threads(0);
  }
  v1::OverviewStep damaged = step;
  damaged.set_step(5);
  damaged.mutable_ops()->add_threads(0);
  writer_.WriteOpTimes({step, damaged});
  Recording recording = Open();
  const auto table = recording.OpTimes(0);
  ASSERT_TRUE(table.ok());
  const auto found = (*table)->OpsOf({}, recording.graph());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->steps, std::vector<uint64_t>{4});
  EXPECT_EQ(found->duration_ns, 900u);
  ASSERT_EQ(found->ops.size(), 1u);
  EXPECT_EQ(found->ops[0].node, NodeName(2));
  EXPECT_EQ(found->ops[0].duration_ns, 50u);
  EXPECT_EQ(ReasonOf(recording.OpTimes(1).status()), "unknown_rank");
  const model::Run run = recording.Describe();
  ASSERT_EQ(run.damage.size(), 1u);
}

TEST_F(RecordingTest, HasWhatUsersHaveChanged) {
  WriteTenSteps();
  v1::UserChange change;
  change.set_step(4);
  change.set_time_unix_nano(5);
  change.set_by("alice");
  change.set_text("learning rate 0.1 -> 0");
  v1::UserChange too_long;
  too_long.set_text(std::string(100'000, 'x'));
  v1::UserChange of_tensor = change;
  of_tensor.set_node_id(2);
  writer_.WriteUserChanges({change, too_long, of_tensor});
  Recording recording = Open();
  const std::vector<model::UserChange> changes = recording.UserChanges();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].step, 4u);
  EXPECT_EQ(changes[0].time_unix_nano, 5);
  EXPECT_EQ(changes[0].by, "alice");
  EXPECT_EQ(changes[0].text, "learning rate 0.1 -> 0");
  EXPECT_EQ(changes[0].node, "");
  EXPECT_EQ(changes[1].node, NodeName(2));
  EXPECT_EQ(recording.Describe().damage.size(), 1u);
}

TEST_F(RecordingTest, ARunThatIsWrittenIsFollowed) {
  writer_.WriteGraph(3);
  writer_.Step(1, 3, 1);
  writer_.WriteSegment(0, UINT64_MAX, true);
  Recording recording = Open();
  EXPECT_EQ(recording.Steps({})->steps.size(), 1u);
  writer_.Step(2, 3, 1);
  writer_.Step(3, 3, 1);
  writer_.WriteSegment(0, UINT64_MAX, true);
  recording.Refresh();
  EXPECT_EQ(NumbersOf(*recording.Steps({})), (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(RecordingTest, CollectionsListWhatTheySelected) {
  WriteTenSteps();
  writer_.WriteInfo(
      R"("config": {"record": {"level": "statistics"},
          "collections": [{"name": "losses"},
                          {"name": "weights", "level": "tensors"}]})");
  writer_.WriteFile("collections.jsonl",
                    "{\"collection\": \"losses\", \"tensors\": [[3, 0]]}\n"
                    "{\"collection\": \"weights\", \"ten");
  Recording recording = Open();
  const auto collections = recording.Collections();
  ASSERT_EQ(collections.size(), 2u);
  EXPECT_EQ(collections[0].level, "statistics");
  EXPECT_EQ(collections[0].tensors,
            std::vector<std::string>{NodeName(3) + ":0"});
  EXPECT_EQ(collections[1].level, "tensors");
}

}  // namespace
}  // namespace graphdbg::recorded
