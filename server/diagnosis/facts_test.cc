#include "server/diagnosis/facts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace graphdbg::diagnosis {
namespace {

TEST(FactsTest, OpsOfAllFrameworksHaveOneName) {
  for (const char* op : {"aten::_softmax", "Softmax", "aten::softmax_"}) {
    EXPECT_EQ(BaseOp(op), "softmax") << op;
  }
  EXPECT_EQ(BaseOp("aten::native_layer_norm"), "layer_norm");
  EXPECT_EQ(BaseOp("aten::_foreach_add_"), "foreach_add");
  EXPECT_EQ(BaseOp(""), "");
}

class FactsOfTest : public testing::Test {
 protected:
  FactsOfTest() {
    graph::GraphPatch patch;
    const auto add = [&](const std::string& name, const std::string& type,
                         std::vector<graph::InputRecord> inputs = {}) {
      graph::NodeRecord record;
      record.id = static_cast<uint32_t>(patch.nodes.size()) + 1;
      record.name = name;
      record.op_type = type;
      record.inputs = std::move(inputs);
      patch.nodes.push_back(record);
    };
    add("forward/h/0/mul", "aten::mul");
    add("forward/h/1/softmax", "aten::_softmax");
    // An input that is not known, a control edge, and the softmax.
    add("forward/h/1/mul", "aten::mul",
        {{0, 0, false}, {1, 0, true}, {2, 1, false}});
    add("forward/h/1/relu", "aten::relu", {{3, 0, false}});
    patch.nodes[2].attributes = {{"other", "8"}, {"mode", "fast"}};
    patch.nodes[3].forward_node_id = 3;
    graph::AgentIds ids;
    EXPECT_TRUE(graph_.Apply(patch, ids).ok());
  }

  graph::GraphStore graph_;
};

TEST_F(FactsOfTest, ComeFromTheGraphAndTheHit) {
  model::Hit hit;
  hit.node = "forward/h/1/mul";
  model::Statistics statistics;
  statistics.count = 3;
  hit.inputs = {{1, {DType::kFloat16, {3}}, statistics}};
  const Facts facts = FactsOf(graph_, hit);
  EXPECT_EQ(facts.node.op, "mul");
  EXPECT_EQ(facts.node.Number("other"), 8);
  EXPECT_EQ(facts.node.Number("mode"), std::nullopt);
  EXPECT_EQ(facts.node.Number("absent"), std::nullopt);
  ASSERT_EQ(facts.inputs.size(), 2u);
  EXPECT_EQ(facts.inputs[0].producer.name, "");
  EXPECT_FALSE(facts.inputs[0].statistics);
  EXPECT_EQ(facts.inputs[1].producer.op, "softmax");
  EXPECT_EQ(facts.inputs[1].slot, 1u);
  EXPECT_EQ(facts.inputs[1].statistics->count, 3u);
  ASSERT_EQ(facts.readers.size(), 1u);
  EXPECT_EQ(facts.readers[0].op, "relu");
  EXPECT_EQ(facts.sibling, "forward/h/0/mul");
  EXPECT_EQ(facts.sibling_layer, "0");
}

TEST_F(FactsOfTest, KnowTheForwardOp) {
  model::Hit hit;
  hit.node = "forward/h/1/relu";
  const Facts facts = FactsOf(graph_, hit);
  EXPECT_EQ(facts.forward.name, "forward/h/1/mul");
  EXPECT_EQ(facts.sibling, "");
}

TEST_F(FactsOfTest, CountTheRunsOfALoop) {
  graph::GraphPatch patch;
  const auto add = [&](const std::string& name, const std::string& type,
                       uint32_t line, std::vector<graph::InputRecord> inputs) {
    graph::NodeRecord record;
    record.id = static_cast<uint32_t>(patch.nodes.size()) + 1;
    record.name = name;
    record.op_type = type;
    record.inputs = std::move(inputs);
    if (line > 0) record.stack = {{"model.py", line, "forward", "", true}};
    patch.nodes.push_back(record);
  };
  add("forward/cell/mm", "aten::mm", 7, {});
  add("forward/cell/tanh", "aten::tanh", 7, {{1, 0, false}});
  add("forward/cell/mm_1", "aten::mm", 7, {{2, 0, false}});
  // Another line, another scope, and an op without a line.
  add("forward/cell/mm_2", "aten::mm", 8, {{3, 0, false}});
  add("forward/head/mm", "aten::mm", 7, {{4, 0, false}});
  add("forward/cell/mm_3", "aten::mm", 7, {{5, 0, false}, {3, 0, false}});
  add("forward/cell/unknown", "aten::mm", 0, {{6, 0, false}});
  graph::GraphStore graph;
  graph::AgentIds ids;
  ASSERT_TRUE(graph.Apply(patch, ids).ok());
  const auto runs = [&](const std::string& node) {
    model::Hit hit;
    hit.node = node;
    return FactsOf(graph, hit).earlier_runs;
  };
  EXPECT_EQ(runs("forward/cell/mm"), 0u);
  EXPECT_EQ(runs("forward/cell/mm_1"), 1u);
  EXPECT_EQ(runs("forward/cell/mm_2"), 0u);
  EXPECT_EQ(runs("forward/cell/mm_3"), 2u);
  EXPECT_EQ(runs("forward/cell/unknown"), 0u);
}

TEST_F(FactsOfTest, AreFewForAnUnknownNode) {
  model::Hit hit;
  hit.node = "forward/unknown";
  EXPECT_EQ(FactsOf(graph_, hit).node.name, "");
}

}  // namespace
}  // namespace graphdbg::diagnosis
