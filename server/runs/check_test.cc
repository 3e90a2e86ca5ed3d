#include "server/runs/check.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <cmath>
#include <filesystem>

#include "server/base/error.h"
#include "server/runs/recording.h"
#include "server/runs/testing/run_writer.h"

namespace graphdbg::recorded {
namespace {

using testing::NodeName;
using testing::RankWriter;

class CheckTest : public ::testing::Test {
 protected:
  CheckTest()
      : path_(::testing::TempDir() + "/check_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~CheckTest() override { std::filesystem::remove_all(path_); }

  absl::StatusOr<model::CheckReport> Run(model::CheckSpec spec) {
    Recording recording("abc", *Folder::Open(path_), nullptr);
    recording.Refresh();
    auto check = recording.PrepareCheck(spec);
    if (!check.ok()) return check.status();
    boost::asio::thread_pool threads(2);
    (*check)->Start(threads.get_executor());
    threads.join();
    return (*check)->Report();
  }
  static model::CheckSpec Spec(const std::string& condition,
                               std::map<std::string, double> params = {}) {
    model::CheckSpec spec;
    spec.watchpoint.condition.id = condition;
    spec.watchpoint.condition.params = std::move(params);
    return spec;
  }
  // The values of ops are the step's number, and NaN at step 7 of op 2.
  void WriteRank(uint32_t rank) {
    RankWriter writer(path_, rank);
    writer.WriteGraph(3);
    writer.WriteInfo();
    for (uint64_t step = 1; step <= 10; ++step) {
      writer.Begin(step);
      for (uint32_t node = 1; node <= 3; ++node) {
        const bool bad = step == 7 && node == 2;
        writer.Statistics(step, node,
                          bad ? std::nan("") : static_cast<double>(step));
      }
      writer.End(step);
    }
    writer.WriteSegment();
  }

  const std::string path_;
};

TEST_F(CheckTest, FindsTheStepAndTheTensor) {
  WriteRank(0);
  const auto report = Run(Spec("nan"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->state, model::CheckState::kDone);
  EXPECT_EQ(report->done, 10u);
  EXPECT_EQ(report->total, 10u);
  ASSERT_EQ(report->hits.size(), 1u);
  const model::CheckHit& found = report->hits[0];
  EXPECT_EQ(found.hit.step, 7u);
  EXPECT_EQ(found.hit.node, NodeName(2));
  EXPECT_EQ(found.hit.actual.at("nan_count"), 4);
  EXPECT_EQ(found.evidence, model::Evidence::kStatistics);
}

TEST_F(CheckTest, ChecksTheGivenStepsRanksAndNodesOnly) {
  WriteRank(0);
  WriteRank(1);
  model::CheckSpec spec = Spec("abs_max_gt", {{"value", 5}});
  spec.watchpoint.condition = {"expression", {}, {{"expression", "max > 5"}}};
  spec.watchpoint.selection.nodes = {NodeName(1)};
  spec.from = 2;
  spec.to = 8;
  spec.ranks = {1};
  const auto report = Run(spec);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->hit_count, 3u);
  for (const auto& each : report->hits) EXPECT_EQ(each.hit.rank, 1u);
  spec.ranks = {5};
  EXPECT_EQ(ReasonOf(Run(spec).status()), "unknown_rank");
}

TEST_F(CheckTest, AnInvalidConditionIsRefused) {
  WriteRank(0);
  EXPECT_FALSE(Run(Spec("no_such_condition")).ok());
}

TEST_F(CheckTest, ChangesAreThoseThatWereRecorded) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(1);
  for (uint64_t step = 1; step <= 3; ++step) {
    writer.Begin(step);
    writer.Statistics(step, 1, 1);
    runs::Record change = writer.last();
    change.kind = static_cast<uint16_t>(runs::Kind::kChange);
    change.change = {};
    change.change.count = 4;
    change.change.finite_count = 4;
    change.change.changed_count = step == 3 ? 0 : 2;
    change.change.previous_step = step - 1;
    if (step > 1) writer.Append(change);
    writer.End(step);
  }
  writer.WriteSegment();
  const auto report = Run(Spec("tensor_not_changed"));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->hits.size(), 1u);
  EXPECT_EQ(report->hits[0].hit.step, 3u);
  EXPECT_EQ(report->not_recorded, 1u);
}

TEST_F(CheckTest, ConditionsOnElementsUseSavedValues) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(2);
  writer.Step(1, 2, 1);
  writer.WriteTensor(1, 1, {1, 1, 9, 9}, {4});
  writer.WriteSegment();
  const auto report = Run(Spec("tensor_range", {{"range_start_inclusive", 0},
                                                {"range_end_inclusive", 2},
                                                {"range_percentage_lt", 60}}));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->hits.size(), 1u);
  EXPECT_EQ(report->hits[0].evidence, model::Evidence::kTensor);
  EXPECT_EQ(report->not_recorded, 1u);
}

// A pass of evaluation has a file of its own in the step, with the same keys.
TEST_F(CheckTest, ValuesOfEvaluationAreNotThoseOfTraining) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(1);
  for (uint64_t step = 1; step <= 2; ++step) {
    writer.Begin(step);
    writer.Statistics(step, 1, 1);
    writer.WriteTensor(step, 1, {1, 1, 1, 1}, {4});
    writer.Begin(step, runs::Mode::kEval, 1);
    writer.Statistics(step, 1, 9);
    writer.last().mode = static_cast<uint8_t>(runs::Mode::kEval);
    writer.last().pass = 1;
    writer.WriteTensor(step, 1, {9, 9, 9, 9}, {4}, runs::Mode::kEval, 2);
    writer.End(step, runs::Mode::kEval, 1);
    writer.End(step);
  }
  writer.WriteSegment();
  const auto report = Run(Spec("tensor_range", {{"range_start_inclusive", 0},
                                                {"range_end_inclusive", 2},
                                                {"range_percentage_lt", 60}}));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->hits.size(), 2u);
  EXPECT_EQ(report->hits[0].hit.statistics.max, 9);
  EXPECT_EQ(report->hits[1].hit.statistics.max, 9);
  EXPECT_EQ(report->not_recorded, 0u);
}

}  // namespace
}  // namespace graphdbg::recorded
