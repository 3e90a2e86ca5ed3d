#include "server/runs/node_alignment.h"

#include <gtest/gtest.h>

#include <utility>

namespace graphdbg::recorded {
namespace {

struct Op {
  std::string name;
  std::string type;
  std::vector<uint32_t> inputs;
  std::string text = "";
};

// Nodes with ids from 1, in order of execution.
ComparedNodes Graph(const std::vector<Op>& ops) {
  ComparedNodes nodes;
  for (const Op& op : ops) {
    const auto id = static_cast<uint32_t>(nodes.size() + 1);
    ComparedNode& node = nodes[id];
    node.name = op.name;
    node.op_type = op.type;
    node.text = op.text;
    node.order = id;
    node.outputs = {{0, {DType::kFloat32, {4, 8}}}};
    for (const uint32_t input : op.inputs) node.inputs.push_back({input, 0});
  }
  return nodes;
}

NodeAlignment Aligned(const ComparedNodes& here, const ComparedNodes& there) {
  return AlignNodes(here, there, [](const std::string& name) { return name; });
}

TEST(NodeAlignment, AnInsertedOpDoesNotShiftTheOthers) {
  const auto here = Graph(
      {{"x", "input", {}}, {"add", "add", {1, 1}}, {"relu", "relu", {2}}});
  const auto there = Graph({{"x", "input", {}},
                            {"add", "add", {1}},
                            {"add_1", "add", {2, 1}},
                            {"relu", "relu", {3}}});
  const NodeAlignment found = Aligned(here, there);
  EXPECT_EQ(found.here_of.size(), 2u);
  EXPECT_EQ(found.here_of.at(2), std::nullopt);
  EXPECT_EQ(found.here_of.at(3), 2u);
  ASSERT_EQ(found.renamings.size(), 1u);
  EXPECT_EQ(found.renamings[0].from, "add");
  EXPECT_EQ(found.renamings[0].to, "add_1");
}

TEST(NodeAlignment, ARenamedScopeIsFound) {
  const auto here = Graph({{"x", "input", {}},
                           {"enc/0/linear", "linear", {1}},
                           {"enc/1/relu", "relu", {2}},
                           {"loss", "mean", {3}}});
  const auto there = Graph({{"x", "input", {}},
                            {"body/enc/0/linear", "linear", {1}},
                            {"body/enc/1/relu", "relu", {2}},
                            {"loss", "mean", {3}}});
  const NodeAlignment found = Aligned(here, there);
  EXPECT_EQ(found.here_of.at(2), 2u);
  EXPECT_EQ(found.here_of.at(3), 3u);
  ASSERT_EQ(found.renamings.size(), 1u);
  EXPECT_EQ(found.renamings[0].from, "enc");
  EXPECT_EQ(found.renamings[0].to, "body/enc");
  EXPECT_EQ(found.renamings[0].nodes, 2u);
}

TEST(NodeAlignment, OpsOfOtherTypesAndPlacesAreNoPairs) {
  const auto here = Graph({{"x", "input", {}}, {"relu", "relu", {1}}});
  const auto there = Graph(
      {{"x", "input", {}}, {"gelu", "gelu", {1}}, {"late/relu", "relu", {2}}});
  const NodeAlignment found = Aligned(here, there);
  EXPECT_TRUE(found.here_of.empty());
  EXPECT_TRUE(found.renamings.empty());
}

TEST(NodeAlignment, AnOpThatMovedIsFoundByItsName) {
  const auto here =
      Graph({{"x", "input", {}}, {"a", "relu", {1}}, {"b", "gelu", {2}}});
  const auto there =
      Graph({{"x", "input", {}}, {"b", "gelu", {1}}, {"a", "relu", {2}}});
  EXPECT_TRUE(Aligned(here, there).here_of.empty());
}

// A weight, and an op of the backward pass that makes its gradient.
ComparedNodes WithGradient(const std::string& weight, const Op& gradient) {
  ComparedNodes nodes = Graph({{weight, "parameter", {}}, gradient});
  nodes[1].kind = model::NodeKind::kParameter;
  nodes[2].category = model::Category::kGradient;
  nodes[2].forward = 1;
  return nodes;
}

TEST(NodeAlignment, AGradientIsKnownByTheNameThatItsParameterIsGiven) {
  const auto here = WithGradient("weight", {"backward/mm", "mm", {1}});
  auto there = WithGradient("kernel", {"backward/MatMul", "MatMul", {1}});
  there[2].outputs[0].type.shape = {8, 4};
  EXPECT_TRUE(Aligned(here, there).here_of.empty());
  const auto rename = [](const std::string& name) {
    return name == "weight" ? "kernel" : name;
  };
  EXPECT_EQ(AlignNodes(here, there, rename).here_of.at(2), 2u);
}

TEST(NodeAlignment, AGradientMayBeGivenANameOfItsOwn) {
  const auto here = Graph({{"w", "parameter", {}}, {"mm", "mm", {1}}});
  const auto there = WithGradient("kernel", {"MatMul", "MatMul", {1}});
  const auto rename = [](const std::string& name) {
    return name == "mm" ? "MatMul" : name;
  };
  // The names agree, so there is nothing to say.
  EXPECT_TRUE(AlignNodes(here, there, rename).here_of.empty());
}

}  // namespace
}  // namespace graphdbg::recorded
