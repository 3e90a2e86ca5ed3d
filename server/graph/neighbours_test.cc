#include "server/graph/neighbours.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace graphdbg::graph {
namespace {

using Strings = std::vector<std::string>;

//   w ─► mul ─► split ─0─► a ─► sum
//   x ──►          └───1─► b ──►
class NeighboursTest : public testing::Test {
 protected:
  NeighboursTest() {
    Add("w", 0, {});
    Add("x", 0, {});
    Add("mul", 1, {{1, 0, false}, {2, 0, false}});
    Add("split", 2, {{3, 0, false}});
    Add("a", 4, {{4, 0, false}});
    Add("b", 3, {{4, 1, false}});
    Add("sum", 5, {{5, 0, false}, {6, 0, false}});
    EXPECT_TRUE(store_.Apply(patch_, ids_).ok());
  }

  void Add(const std::string& name, uint64_t order,
           std::vector<InputRecord> inputs) {
    NodeRecord record;
    record.id = static_cast<uint32_t>(patch_.nodes.size() + 1);
    record.name = name;
    record.order = order;
    record.inputs = std::move(inputs);
    patch_.nodes.push_back(record);
  }

  // "mul-1" is the node mul at distance -1.
  Strings Nodes(const Surroundings& around) {
    Strings nodes;
    for (const auto& [node, distance] : around.nodes) {
      nodes.push_back(store_.node(node).name + (distance > 0 ? "+" : "") +
                      std::to_string(distance));
    }
    return nodes;
  }
  Strings Edges(const Surroundings& around) {
    Strings edges;
    for (const auto& [to, position] : around.edges) {
      const Input& input = store_.node(to).inputs[position];
      edges.push_back(store_.node(input.node).name + ":" +
                      std::to_string(input.slot) + ">" + store_.node(to).name +
                      "." + std::to_string(position));
    }
    return edges;
  }
  Surroundings Around(const std::string& name, uint32_t slot, uint32_t depth,
                      size_t max = 100) {
    return FindNeighbours(store_, store_.FindNode(name), slot, depth, max);
  }

  GraphPatch patch_;
  GraphStore store_;
  AgentIds ids_;
};

TEST_F(NeighboursTest, AreProducersAndConsumersOfOneOutput) {
  const Surroundings around = Around("split", 1, 1);
  EXPECT_EQ(Nodes(around), (Strings{"mul-1", "split0", "b+1"}));
  EXPECT_EQ(Edges(around), (Strings{"mul:0>split.0", "split:1>b.0"}));
  EXPECT_FALSE(around.truncated);
}

TEST_F(NeighboursTest, GoAsDeepAsAsked) {
  const Surroundings around = Around("split", 0, 2);
  EXPECT_EQ(Nodes(around),
            (Strings{"w-2", "x-2", "mul-1", "split0", "a+1", "sum+2"}));
  EXPECT_EQ(Edges(around), (Strings{"w:0>mul.0", "x:0>mul.1", "mul:0>split.0",
                                    "split:0>a.0", "a:0>sum.0"}));
  EXPECT_EQ(Nodes(Around("w", 0, 50)),
            (Strings{"w0", "mul+1", "split+2", "b+3", "a+3", "sum+4"}));
}

TEST_F(NeighboursTest, AreCutWhereThereAreTooMany) {
  const Surroundings around = Around("split", 0, 9, 3);
  EXPECT_TRUE(around.truncated);
  EXPECT_EQ(Nodes(around), (Strings{"mul-1", "split0", "a+1"}));
}

TEST_F(NeighboursTest, EndWhereAGraphGoesInCircles) {
  // An in-place update: mul also reads the output of sum.
  patch_.nodes[2].inputs.push_back({7, 0, false});
  ASSERT_TRUE(store_.Apply(patch_, ids_).ok());
  const Surroundings around = Around("mul", 0, 20);
  EXPECT_EQ(around.nodes.size(), 7u);
  EXPECT_EQ(around.edges.size(), 8u);
}

}  // namespace
}  // namespace graphdbg::graph
