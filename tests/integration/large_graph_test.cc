// A graph of 100,000 nodes, from the wire to the client.
#include <cstdint>
#include <string>
#include <vector>

#include "server/base/gzip.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

constexpr uint32_t kNodes = 100'000;
constexpr uint32_t kNodesOfAMessage = 2'000;

// Layers of a hundred ops, each of which reads the output of the previous one.
// The middle third of them is in one scope.
v1::Node MakeNode(uint32_t id) {
  v1::Node node;
  const bool optimizer = id > kNodes / 3 && id <= 2 * kNodes / 3;
  const std::string number = std::to_string(id);
  node.set_id(id);
  node.set_name(optimizer ? "optimizer/SGD/add__" + number
                          : "forward/layers/" + std::to_string(id / 100) +
                                "/mul_" + number);
  node.set_op_type(optimizer ? "aten::add_" : "aten::mul");
  node.set_kind(v1::NODE_KIND_OP);
  node.set_category(optimizer ? v1::NODE_CATEGORY_OPTIMIZER
                              : v1::NODE_CATEGORY_ACTIVATION);
  node.set_order(id);
  node.set_first_step(1);
  v1::TensorType& type = *node.add_outputs()->mutable_type();
  type.set_dtype(v1::DTYPE_FLOAT32);
  type.add_shape(32);
  if (id > 1) node.add_inputs()->set_node_id(id - 1);
  v1::SourceFrame& frame = *node.add_stack();
  frame.set_file("/home/someone/train.py");
  frame.set_line(id % 500 + 1);
  frame.set_user(true);
  return node;
}

class LargeGraphTest : public ServerFixture {};

TEST_F(LargeGraphTest, IsHeldAndAnsweredFrom) {
  Start();
  ScriptedAgent agent(port());
  agent.Join(ScriptedAgent::MakeHello("large"));
  std::vector<v1::Node> nodes;
  for (uint32_t id = 1; id <= kNodes; ++id) {
    nodes.push_back(MakeNode(id));
    if (nodes.size() < kNodesOfAMessage && id < kNodes) continue;
    ASSERT_TRUE(agent.SendGraph(nodes));
    nodes.clear();
  }
  WaitFor([](const model::Event& e) { return e.node_count == kNodes; });
  auto job = directory().Find("large");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(Await(job->Graphs())->at(0).edge_count, kNodes - 1);

  auto all = Await(job->Scope("", "optimizer/SGD", {}));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->nodes.size(), kNodes / 3);
  auto one = Await(job->Scope("", "optimizer/SGD", 100));
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->nodes.size(), 1u);
  EXPECT_EQ(one->nodes[0].child_count, kNodes / 3);
  EXPECT_TRUE(one->edges.empty());

  model::SearchQuery query;
  query.source = "train.py:77";
  query.op_type = "mul";
  query.limit = 1'000;
  // One op in five hundred; a third of them have another type.
  auto found = Await(job->Search(query));
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(static_cast<double>(found->nodes.size()), kNodes / 500 * 2 / 3,
              1);

  auto file = Await(job->Index(""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(Gunzip((*file)->gzip, (*file)->bytes).ok());

  uint64_t exported = 0;
  for (uint64_t from = 0;;) {
    auto page = Await(job->Export("", from));
    ASSERT_TRUE(page.ok());
    exported += page->nodes.size();
    from = page->next;
    if (from == 0) break;
  }
  EXPECT_EQ(exported, kNodes);
}

}  // namespace
}  // namespace graphdbg::integration
