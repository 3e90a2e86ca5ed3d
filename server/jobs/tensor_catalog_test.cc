#include "server/jobs/tensor_catalog.h"

#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/jobs/live_tensors.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class TensorCatalogTest : public JobFixture {
 protected:
  TensorCatalogTest() {
    Rank& rank = Connect(0);
    graph::GraphPatch patch;
    for (const char* name : {"forward/log", "forward/exp"}) {
      graph::NodeRecord record;
      record.id = static_cast<uint32_t>(patch.nodes.size()) + 1;
      record.name = name;
      record.outputs = {{0, {}}};
      if (record.id == 2) record.inputs = {{1, 0, false}};
      patch.nodes.push_back(record);
    }
    EXPECT_TRUE(graph_.Apply(patch, rank.ids).ok());
    known_.Add(0, 0, 0, 4, {}, KnownStatistics::Source::kAnswer);
    known_.Add(0, 0, 0, 5, {}, KnownStatistics::Source::kAnswer);
  }

  LiveTensors known_tensors_{machine_, known_};
  TensorCatalog catalog_{graph_, annotations(), known_tensors_, hits_};
};

TEST_F(TensorCatalogTest, ListsInputsAndOutputsWithTheNewestStatistics) {
  const auto tensors = catalog_.List("forward/exp", 0);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ((*tensors)[0].role, "input");
  EXPECT_EQ((*tensors)[0].tensor.node, "forward/log");
  EXPECT_EQ((*tensors)[0].statistics_step, 5u);
  EXPECT_EQ((*tensors)[1].role, "output");
  EXPECT_FALSE((*tensors)[1].statistics.has_value());
}

TEST_F(TensorCatalogTest, ReturnsTheHistoryOfATensor) {
  const auto history = catalog_.History("forward/log", 0, 0);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->points.size(), 2u);
  EXPECT_EQ(history->points[0].step, 4u);
}

TEST_F(TensorCatalogTest, FindsTheNeighboursOfATensor) {
  model::NeighbourQuery query;
  query.node = "forward/log";
  const auto around = catalog_.FindNeighbours(query);
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_EQ(around->nodes.size(), 2u);
  ASSERT_EQ(around->edges.size(), 1u);
  EXPECT_EQ(around->edges[0].to, "forward/exp");
  EXPECT_FALSE(around->truncated);
}

TEST_F(TensorCatalogTest, NamesWhatIsUnknown) {
  EXPECT_EQ(ReasonOf(catalog_.List("forward/tan", 0).status()), "unknown_node");
  EXPECT_EQ(ReasonOf(catalog_.History("forward/log", 3, 0).status()),
            "unknown_slot");
  EXPECT_EQ(ReasonOf(catalog_.History("forward/log", 0, 8).status()),
            "unknown_rank");
}

TEST_F(TensorCatalogTest, ANodeWithoutKnownOutputsHasEverySlot) {
  graph::GraphPatch patch;
  graph::NodeRecord record;
  record.id = 3;
  record.name = "forward/custom";
  patch.nodes = {record};
  ASSERT_TRUE(graph_.Apply(patch, machine_.Find(0)->ids).ok());
  EXPECT_TRUE(FindTensor(graph_, "forward/custom", 5).ok());
}

}  // namespace
}  // namespace graphdbg::jobs
