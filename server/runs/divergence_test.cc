#include "server/runs/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "server/base/error.h"
#include "server/runs/recording.h"
#include "server/runs/testing/run_writer.h"

namespace graphdbg::recorded {
namespace {

using model::Divergence;
using model::DivergenceQuery;
using testing::NodeName;
using testing::RankWriter;

class DivergenceTest : public ::testing::Test {
 protected:
  DivergenceTest()
      : path_(::testing::TempDir() + "/divergence_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~DivergenceTest() override { std::filesystem::remove_all(path_); }

  // Four steps with three ops, whose records `change` may modify.
  void Write(
      uint32_t rank,
      const std::function<void(runs::Record&)>& change = [](runs::Record&) {}) {
    RankWriter writer(path_, rank);
    writer.WriteGraph(3);
    writer.WriteInfo();
    for (uint64_t step = 1; step <= 4; ++step) {
      writer.Begin(step);
      for (uint32_t node = 1; node <= 3; ++node) {
        writer.Statistics(step, node, static_cast<double>(step * node));
        change(writer.last());
      }
      writer.End(step);
    }
    writer.WriteSegment();
  }
  Divergence Compare(const DivergenceQuery& query = {}) {
    Recording recording("abc", *Folder::Open(path_), nullptr);
    recording.Refresh();
    const std::atomic<bool> cancelled = false;
    const auto found = FindDivergence(*recording.CopyForComparison(0),
                                      *recording.CopyForComparison(1), nullptr,
                                      query, cancelled);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  const std::string path_;
};

TEST_F(DivergenceTest, RanksThatRecordedTheSameAgree) {
  Write(0);
  Write(1);
  const Divergence found = Compare();
  EXPECT_EQ(found.steps, 4u);
  EXPECT_EQ(found.matched, 3u);
  EXPECT_FALSE(found.first);
  EXPECT_TRUE(found.next.empty() && found.only_here.empty());
}

TEST_F(DivergenceTest, FindsTheFirstOpThatDiffers) {
  Write(0);
  Write(1, [](runs::Record& record) {
    if (record.step >= 3 && record.node == 2) record.statistics.max += 1;
  });
  const Divergence found = Compare();
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->step, 3u);
  EXPECT_EQ(found.first->mode, model::RunMode::kTrain);
  EXPECT_EQ(found.first->pass, 1u);
  EXPECT_EQ(found.first->node, NodeName(2));
  EXPECT_EQ(found.first->exec_order, 2u);
  EXPECT_EQ(found.first->measure, "max");
  EXPECT_EQ(std::get<double>(found.first->here), 6);
  EXPECT_EQ(std::get<double>(found.first->there), 7);
  ASSERT_EQ(found.next.size(), 1u);
  EXPECT_EQ(found.next[0].step, 4u);
}

TEST_F(DivergenceTest, TellsWhetherTheInputsOfTheOpWereEqual) {
  Write(0);
  Write(1, [](runs::Record& record) {
    if (record.step >= 3 && record.node >= 2) record.statistics.max += 1;
  });
  const Divergence found = Compare();
  EXPECT_EQ(found.first->there_node, NodeName(2));
  ASSERT_EQ(found.first->inputs.size(), 1u);
  const model::ComparedInput& equal = found.first->inputs[0];
  EXPECT_EQ(equal.node, NodeName(1));
  EXPECT_EQ(equal.there_node, NodeName(1));
  EXPECT_EQ(equal.state, model::InputState::kEqual);
  EXPECT_EQ(equal.measure, "");
  const model::ComparedInput& differs = found.next.at(0).inputs.at(0);
  EXPECT_EQ(differs.node, NodeName(2));
  EXPECT_EQ(differs.state, model::InputState::kDiffers);
  EXPECT_EQ(differs.measure, "max");
  EXPECT_EQ(std::get<double>(differs.here), 6);
  EXPECT_EQ(std::get<double>(differs.there), 7);
}

TEST_F(DivergenceTest, AnInputWithoutRecordsIsNamedAsSuch) {
  const auto unrecorded = [](double by) {
    return [by](runs::Record& record) {
      if (record.node == 1) record.node = 3;
      record.statistics.max += by;
    };
  };
  Write(0, unrecorded(0));
  Write(1, unrecorded(1));
  const Divergence found = Compare();
  EXPECT_EQ(found.next.at(0).node, NodeName(2));
  EXPECT_EQ(found.next[0].inputs.at(0).state, model::InputState::kNotRecorded);
  EXPECT_EQ(found.next[0].inputs[0].there_node, "");
}

TEST_F(DivergenceTest, CountsMustBeEqualAndMeasuresClose) {
  Write(0);
  Write(1, [](runs::Record& record) {
    record.statistics.l2 *= 1 + 1e-9;
    if (record.step == 2 && record.node == 1) record.statistics.nan_count = 1;
    if (record.step == 3 && record.node == 1) record.statistics.l1 = INFINITY;
    if (record.step == 4 && record.node == 1) record.statistics.l1 = NAN;
  });
  DivergenceQuery query;
  const Divergence found = Compare(query);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->measure, "nan_count");
  EXPECT_EQ(std::get<uint64_t>(found.first->there), 1u);
  ASSERT_EQ(found.next.size(), 2u);
  EXPECT_EQ(found.next[0].measure, "l1");
  EXPECT_EQ(found.next[1].measure, "l1");
  query.rtol = 0;
  EXPECT_EQ(Compare(query).first->measure, "l2");
  query.atol = 1e-6;
  EXPECT_EQ(Compare(query).first->measure, "nan_count");
}

TEST_F(DivergenceTest, NamesCanBeTranslated) {
  Write(0);
  Write(1);
  DivergenceQuery query;
  query.renamings = {{NodeName(1), NodeName(3)}, {NodeName(3), NodeName(1)}};
  Divergence found = Compare(query);
  EXPECT_EQ(found.matched, 3u);
  EXPECT_EQ(found.first->node, NodeName(1));
  EXPECT_EQ(found.first->there_node, NodeName(3));
  EXPECT_EQ(std::get<double>(found.first->there), 3);
  // The longest one counts. Nodes whose names are not found are aligned.
  query.renamings = {{"forward", "backward"}, {NodeName(2), NodeName(3)}};
  found = Compare(query);
  EXPECT_EQ(found.first->node, NodeName(2));
  EXPECT_EQ(found.first->there_node, NodeName(3));
  EXPECT_EQ(found.only_here, std::vector<std::string>{NodeName(3) + ":0"});
  EXPECT_EQ(found.only_there, std::vector<std::string>{NodeName(2) + ":0"});
}

TEST_F(DivergenceTest, RoundingIsNoDifference) {
  Write(0);
  Write(1, [](runs::Record& record) { record.statistics.l2 *= 1 + 1e-6; });
  DivergenceQuery query;
  EXPECT_FALSE(Compare(query).first);
  query.rtol = 1e-7;
  EXPECT_EQ(Compare(query).first->measure, "l2");
  Write(1, [](runs::Record& record) { record.statistics.l2 *= 1 + 1e-5; });
  EXPECT_EQ(Compare().first->measure, "l2");
  // In the coarser format of the two.
  Write(1, [](runs::Record& record) {
    record.statistics.l2 *= 1 + 1e-3;
    record.dtype = 11;
  });
  EXPECT_FALSE(Compare().first);
}

TEST_F(DivergenceTest, MatchesRepeatedExecutionsByTheirOrder) {
  const auto once = [](runs::Record& record) {
    record.node = 1;
    record.slot = 0;
  };
  Write(0, once);
  Write(1, once);
  EXPECT_FALSE(Compare().first);
  // The same in another order of appending, and one more op before.
  Write(1, [](runs::Record& record) {
    record.exec_order = 5 - record.exec_order;
    record.statistics.min = record.statistics.max = 0;
    record.node = record.exec_order == 4 ? 3 : 1;
  });
  const Divergence found = Compare();
  EXPECT_EQ(found.matched, 1u);
  EXPECT_EQ(found.only_there_count, 1u);
  EXPECT_EQ(found.first->exec_order, 1u);
  EXPECT_EQ(found.first->measure, "min");
}

TEST_F(DivergenceTest, StopsBehindTheStepWithThe21stDifference) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    RankWriter writer(path_, rank);
    writer.WriteGraph(15);
    writer.WriteInfo();
    for (uint64_t step = 1; step <= 4; ++step) writer.Step(step, 15, rank);
    writer.WriteSegment();
  }
  const Divergence found = Compare();
  EXPECT_EQ(found.steps, 2u);
  EXPECT_EQ(found.next.size(), 20u);
}

TEST_F(DivergenceTest, ComparesDigestsWhereThereAreSome) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    RankWriter writer(path_, rank);
    writer.WriteGraph(2);
    writer.WriteInfo();
    for (uint64_t step = 1; step <= 2; ++step) {
      writer.Step(step, 2, rank);
      runs::Record record = {};
      record.kind = static_cast<uint16_t>(runs::Kind::kChange);
      record.step = step;
      record.node = 1;
      record.change.digest = step == 1 ? 0 : 5 + rank;
      writer.Append(record);
    }
    writer.WriteSegment();
  }
  DivergenceQuery query;
  query.method = model::DivergenceMethod::kDigest;
  const Divergence found = Compare(query);
  EXPECT_EQ(found.steps, 1u);
  EXPECT_EQ(found.matched, 1u);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(std::get<uint64_t>(found.first->there), 6u);
}

TEST_F(DivergenceTest, EndsWhenTheServerStops) {
  Write(0);
  Recording recording("abc", *Folder::Open(path_), nullptr);
  recording.Refresh();
  const auto rank = *recording.CopyForComparison(0);
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(FindDivergence(rank, rank, nullptr, {}, cancelled).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(ReasonOf(recording.CopyForComparison(9).status()), "unknown_rank");
}

}  // namespace
}  // namespace graphdbg::recorded
