#include "server/graph/graph_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/graph/graph_view.h"

namespace graphdbg::graph {
namespace {

class NoAnnotations final : public Annotations {
 public:
  uint64_t HitsOf(Child) const override { return 0; }
  model::Watched WatchedOf(Child) const override {
    return model::Watched::kNone;
  }
  bool Covers(uint32_t, NodeIndex) const override { return false; }
};

NodeRecord MakeNode(uint32_t id, const std::string& name, uint64_t order,
                    std::vector<InputRecord> inputs = {}) {
  NodeRecord record;
  record.id = id;
  record.name = name;
  record.order = order;
  record.inputs = std::move(inputs);
  return record;
}

class GraphStoreTest : public testing::Test {
 protected:
  absl::Status Put(std::vector<NodeRecord> nodes,
                   const std::string& graph = "") {
    GraphPatch patch;
    patch.graph = graph;
    patch.nodes = std::move(nodes);
    return store_.Apply(patch, ids_);
  }

  model::ScopeView View(const std::string& name,
                        const std::string& graph = "") {
    auto view = GraphView(store_, none_).ScopeNamed(graph, name);
    EXPECT_TRUE(view.ok()) << view.status();
    return view.ok() ? *view : model::ScopeView();
  }

  std::vector<std::string> Names(const std::string& scope) {
    std::vector<std::string> names;
    for (const auto& node : View(scope).nodes) names.push_back(node.label);
    return names;
  }

  // "a>b:2" for two tensors from a to b; "a~b:1" for a control edge.
  std::vector<std::string> Edges(const std::string& scope) {
    std::vector<std::string> edges;
    for (const auto& edge : View(scope).edges) {
      const char* arrow = edge.kind == model::EdgeKind::kData ? ">" : "~";
      edges.push_back(edge.from + arrow + edge.to + ":" +
                      std::to_string(edge.tensors));
    }
    return edges;
  }

  NoAnnotations none_;
  GraphStore store_;
  AgentIds ids_;
};

using Strings = std::vector<std::string>;

class AggregatesTest : public GraphStoreTest {
 protected:
  // o/add to o/add_{count - 1}, in a chain that ends in o/norm.
  void PutChain(uint32_t count) {
    std::vector<NodeRecord> nodes;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string number = i == 0 ? "" : "_" + std::to_string(i);
      nodes.push_back(
          MakeNode(i + 1, "o/add" + number, i + 1, {{i, 0, false}}));
      nodes.back().op_type = "aten::add";
    }
    nodes.push_back(
        MakeNode(count + 1, "o/norm", count + 1, {{count, 0, false}}));
    ASSERT_TRUE(Put(nodes).ok());
  }
  model::ScopeView Open(const std::string& name, size_t above) {
    auto view = GraphView(store_, none_).ScopeNamed("", name, above);
    EXPECT_TRUE(view.ok()) << view.status();
    return view.ok() ? *view : model::ScopeView();
  }
};

TEST_F(AggregatesTest, StandForLikeSiblingsAboveTheLimit) {
  PutChain(5);
  EXPECT_EQ(Open("o", 5).nodes.size(), 6u);
  const model::ScopeView view = Open("o", 4);
  ASSERT_EQ(view.nodes.size(), 2u);
  const model::Node& adds = view.nodes[0];
  EXPECT_EQ(adds.name, "o/add[*]");
  EXPECT_EQ(adds.kind, model::NodeKind::kAggregate);
  EXPECT_EQ(adds.op_type, "aten::add");
  EXPECT_EQ(adds.child_count, 5u);
  EXPECT_EQ(adds.order, 1u);
  // Edges between members are not shown.
  ASSERT_EQ(view.edges.size(), 1u);
  EXPECT_EQ(view.edges[0].from, "o/add[*]");
  EXPECT_EQ(view.edges[0].to, "o/norm");
  EXPECT_EQ(Open("o/add[*]", 4).nodes.size(), 5u);
  EXPECT_EQ(Open("o/add[*]", 4).edges.size(), 4u);
  const auto detail = GraphView(store_, none_).Detail("o/add[*]");
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->node.child_count, 5u);
}

TEST_F(AggregatesTest, AreOpenedInRangesWhenThereAreMany) {
  PutChain(2'500);
  const model::ScopeView view = Open("o/add[*]", 10);
  std::vector<std::string> labels;
  for (const auto& node : view.nodes) labels.push_back(node.label);
  EXPECT_EQ(labels,
            (Strings{"add[0:1000]", "add[1000:2000]", "add[2000:3000]"}));
  EXPECT_EQ(view.nodes[2].child_count, 500u);
  EXPECT_EQ(view.edges.size(), 2u);
  const model::ScopeView last = Open("o/add[2000:3000]", 10);
  ASSERT_EQ(last.nodes.size(), 500u);
  EXPECT_EQ(last.nodes[0].name, "o/add_2000");
}

TEST_F(AggregatesTest, OfScopesCountWhatIsBelow) {
  std::vector<NodeRecord> nodes;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string layer = "l/" + std::to_string(i);
    nodes.push_back(MakeNode(2 * i + 1, layer + "/a", 0));
    nodes.push_back(
        MakeNode(2 * i + 2, layer + "/b", 10 - i, {{2 * i + 1, 0, false}}));
  }
  ASSERT_TRUE(Put(nodes).ok());
  const model::ScopeView view = Open("l", 3);
  ASSERT_EQ(view.nodes.size(), 1u);
  EXPECT_EQ(view.nodes[0].name, "l/[*]");
  EXPECT_EQ(view.nodes[0].descendant_count, 8u);
  EXPECT_EQ(view.nodes[0].order, 7u);
  EXPECT_EQ(Open("l/[*]", 3).nodes[0].name, "l/3");
}

TEST_F(AggregatesTest, NamesThatAreNoneStayUnknown) {
  PutChain(3);
  const GraphView view(store_, none_);
  for (const char* name : {"o/sub[*]", "p/add[*]", "o/add[5:9]", "o/add[2:1]",
                           "o/add[x:1]", "o/add[1]", "o/add*]", "[*", "]"}) {
    EXPECT_EQ(ReasonOf(view.ScopeNamed("", name).status()), "unknown_scope")
        << name;
    EXPECT_EQ(ReasonOf(view.Detail(name).status()), "unknown_node") << name;
  }
  EXPECT_EQ(StemOf("conv2d"), "conv2d");
  EXPECT_EQ(StemOf("conv2d_3"), "conv2d");
  EXPECT_EQ(StemOf("relu__1"), "relu_");
  EXPECT_EQ(StemOf("relu_"), "relu_");
  EXPECT_EQ(StemOf("Conv2D-op12"), "Conv2D-op");
  EXPECT_EQ(StemOf("7"), "");
}

TEST_F(GraphStoreTest, KnowsTheLastStepInWhichANodeWasSeen) {
  ASSERT_TRUE(Put({MakeNode(1, "a", 1), MakeNode(2, "b", 2)}).ok());
  GraphPatch patch;
  patch.seen[4] = {2, 77};
  EXPECT_FALSE(patch.changes_graph());
  ASSERT_TRUE(store_.Apply(patch, ids_).ok());
  // Another rank is behind.
  patch.seen = {{3, {1, 2}}};
  ASSERT_TRUE(store_.Apply(patch, ids_).ok());
  EXPECT_EQ(View("").nodes[0].last_step, 3u);
  EXPECT_EQ(View("").nodes[1].last_step, 4u);
}

TEST_F(GraphStoreTest, IsEmptyNotUnknownBeforeTheFirstNode) {
  EXPECT_TRUE(View("").nodes.empty());
  auto view = GraphView(store_, none_).ScopeNamed("", "forward");
  EXPECT_EQ(ReasonOf(view.status()), "unknown_graph");
}

TEST_F(GraphStoreTest, WithoutAMainGraphTheFirstStandsForIt) {
  ASSERT_TRUE(Put({MakeNode(1, "cnn/conv", 1)}, "cnn").ok());
  ASSERT_TRUE(Put({MakeNode(2, "lstm/gate", 2)}, "lstm").ok());
  ASSERT_EQ(View("").nodes.size(), 1u);
  EXPECT_EQ(View("").nodes[0].name, "cnn");
  EXPECT_EQ(View("lstm", "lstm").nodes[0].name, "lstm/gate");
  const GraphView view(store_, none_);
  EXPECT_EQ(view.Detail("lstm/gate")->graph, "lstm");
  EXPECT_EQ(view.Detail("lstm")->graph, "lstm");
  EXPECT_EQ(view.Page("", 0)->graph, "cnn");
  ASSERT_TRUE(Put({MakeNode(3, "forward/op", 3)}).ok());
  EXPECT_EQ(View("").nodes[0].name, "forward");
}

TEST_F(GraphStoreTest, ShowsChildrenInExecutionOrderAndWhatDoesNotRunLast) {
  ASSERT_TRUE(Put({MakeNode(1, "f/weight", 0), MakeNode(2, "f/late", 9),
                   MakeNode(3, "f/bias", 0), MakeNode(4, "f/m/x", 2),
                   MakeNode(5, "f/early", 1), MakeNode(6, "f/a", 9)})
                  .ok());
  EXPECT_EQ(Names("f"), (Strings{"early", "m", "a", "late", "bias", "weight"}));
}

TEST_F(GraphStoreTest, LiftsEdgesToTheChildrenShown) {
  ASSERT_TRUE(Put({MakeNode(1, "a/x", 1), MakeNode(2, "a/b/y", 2, {{1, 0}}),
                   MakeNode(3, "a/b/z", 3, {{2, 0}, {1, 0}}),
                   MakeNode(4, "c/w", 4, {{3, 0}, {2, 1}, {1, 0, true}})})
                  .ok());
  EXPECT_EQ(Edges(""), (Strings{"a>c:2", "a~c:1"}));
  EXPECT_EQ(Edges("a"), (Strings{"a/x>a/b:2"}));
  // Edges that leave the scope are omitted.
  EXPECT_EQ(Edges("a/b"), (Strings{"a/b/y>a/b/z:1"}));
  EXPECT_EQ(store_.graphs()[0].edge_count, 6u);
}

TEST_F(GraphStoreTest, ReplacesANodeWithItsEdges) {
  ASSERT_TRUE(Put({MakeNode(1, "x", 1), MakeNode(2, "y", 2),
                   MakeNode(3, "z", 3, {{1, 0}, {1, 1}})})
                  .ok());
  EXPECT_EQ(Edges(""), (Strings{"x>z:2"}));
  ASSERT_TRUE(Put({MakeNode(3, "z", 3, {{2, 0}})}).ok());
  EXPECT_EQ(Edges(""), (Strings{"y>z:1"}));
  EXPECT_TRUE(store_.node(store_.FindNode("x")).consumers.empty());
  EXPECT_EQ(store_.node_count(), 3u);
  EXPECT_EQ(store_.graphs()[0].edge_count, 1u);
}

TEST_F(GraphStoreTest, TakesProducersThatComeAfterTheirConsumers) {
  ASSERT_TRUE(Put({MakeNode(1, "y", 2, {{2, 0}, {3, 0}})}).ok());
  EXPECT_TRUE(Edges("").empty());
  ASSERT_TRUE(Put({MakeNode(2, "x", 1)}).ok());
  EXPECT_EQ(Edges(""), (Strings{"x>y:1"}));
  // The consumer was redefined before the other producer was reported.
  ASSERT_TRUE(Put({MakeNode(1, "y", 2, {{2, 0}})}).ok());
  ASSERT_TRUE(Put({MakeNode(3, "w", 1)}).ok());
  EXPECT_EQ(Edges(""), (Strings{"x>y:1"}));
}

TEST_F(GraphStoreTest, MakesOneNodeOfWhatSeveralAgentsCallTheSame) {
  ASSERT_TRUE(Put({MakeNode(1, "x", 1), MakeNode(2, "y", 2, {{1, 0}})}).ok());
  AgentIds other;
  GraphPatch patch;
  patch.nodes = {MakeNode(1, "y", 2, {{2, 0}}), MakeNode(2, "x", 1),
                 MakeNode(3, "only_here", 3)};
  ASSERT_TRUE(store_.Apply(patch, other).ok());
  EXPECT_EQ(store_.node_count(), 3u);
  EXPECT_EQ(Edges(""), (Strings{"x>y:1"}));
  EXPECT_EQ(other.Find(1), ids_.Find(2));
}

// Links and their entries must refer to each other whatever is replaced, since
// entries are removed without a search.
TEST_F(GraphStoreTest, ReplacesConsumersInAnyOrder) {
  constexpr uint32_t kConsumers = 2'000;
  std::vector<NodeRecord> nodes = {MakeNode(1, "x", 1), MakeNode(2, "y", 2)};
  for (uint32_t i = 0; i < kConsumers; ++i) {
    nodes.push_back(
        MakeNode(3 + i, absl::StrCat("c", i), 3 + i, {{1, 0}, {2, 0}, {1, 1}}));
  }
  ASSERT_TRUE(Put(nodes).ok());
  const auto check = [&] {
    size_t entries = 0;
    size_t links = 0;
    for (NodeIndex i = 0; i < store_.node_count(); ++i) {
      const auto& consumers = store_.node(i).consumers;
      entries += consumers.size();
      for (uint32_t k = 0; k < consumers.size(); ++k) {
        const auto& inputs = store_.node(consumers[k].node).inputs;
        ASSERT_LT(consumers[k].position, inputs.size());
        EXPECT_EQ(inputs[consumers[k].position].node, i);
        EXPECT_EQ(inputs[consumers[k].position].link, k);
      }
      for (const Input& input : store_.node(i).inputs) {
        links += input.node != kNoNode ? 1 : 0;
      }
    }
    EXPECT_EQ(entries, links);
    EXPECT_EQ(store_.graphs()[0].edge_count, links);
  };
  check();
  // Every third, in steps that visit them in a mixed order.
  for (uint32_t i = 0; i < kConsumers; i += 3) {
    const uint32_t k = i * 7 % kConsumers;
    ASSERT_TRUE(Put({MakeNode(3 + k, absl::StrCat("c", k), 3 + k,
                              {{2, 0}, {1, i % 5}, {i % 2 + 1, 3}})})
                    .ok());
  }
  check();
  for (uint32_t i = 0; i < kConsumers; ++i) {
    ASSERT_TRUE(Put({MakeNode(3 + i, absl::StrCat("c", i), 3 + i)}).ok());
  }
  check();
  EXPECT_TRUE(store_.node(0).consumers.empty());
}

TEST_F(GraphStoreTest, LinksAConsumerOnceThatWasReportedTwice) {
  ASSERT_TRUE(Put({MakeNode(1, "y", 2, {{2, 0}})}).ok());
  ASSERT_TRUE(Put({MakeNode(1, "y", 2, {{2, 0}})}).ok());
  ASSERT_TRUE(Put({MakeNode(2, "x", 1)}).ok());
  EXPECT_EQ(Edges(""), (Strings{"x>y:1"}));
  EXPECT_EQ(store_.node(store_.FindNode("x")).consumers.size(), 1u);
}

TEST_F(GraphStoreTest, ListsConsumersInTheOrderOfTheirDeclaration) {
  ASSERT_TRUE(
      Put({MakeNode(1, "x", 1), MakeNode(2, "a", 2, {{1, 0}}),
           MakeNode(3, "b", 3, {{1, 0}}), MakeNode(4, "c", 4, {{1, 0}})})
          .ok());
  ASSERT_TRUE(Put({MakeNode(2, "a", 2, {{1, 1}})}).ok());
  const auto detail = GraphView(store_, none_).Detail("x");
  ASSERT_TRUE(detail.ok());
  Strings names;
  for (const auto& each : detail->consumers) names.push_back(each.node);
  EXPECT_EQ(names, (Strings{"a", "b", "c"}));
}

TEST_F(GraphStoreTest, TellsConsumersAndTypes) {
  NodeRecord x = MakeNode(1, "x", 1);
  x.outputs = {{0, {DType::kFloat32, {2, 3}}}, {1, {DType::kInt64, {2}}}};
  ASSERT_TRUE(Put({x, MakeNode(2, "y", 2, {{1, 1}})}).ok());
  auto detail = GraphView(store_, none_).Detail("x");
  ASSERT_TRUE(detail.ok());
  ASSERT_EQ(detail->consumers.size(), 1u);
  EXPECT_EQ(detail->consumers[0].node, "y");
  EXPECT_EQ(detail->consumers[0].slot, 1u);
  EXPECT_EQ(detail->consumers[0].type.dtype, DType::kInt64);
  detail = GraphView(store_, none_).Detail("y");
  ASSERT_EQ(detail->inputs.size(), 1u);
  EXPECT_EQ(detail->inputs[0].type.shape, std::vector<int64_t>{2});
}

TEST_F(GraphStoreTest, FindsTheUsersLineAndForBackwardThatOfForward) {
  NodeRecord forward = MakeNode(1, "f", 1);
  forward.stack = {{"torch/nn.py", 1, "g", "", false},
                   {"train.py", 7, "main", "f(x)", true}};
  NodeRecord backward = MakeNode(2, "b", 2);
  backward.forward_node_id = 1;
  NodeRecord library = MakeNode(3, "l", 3);
  library.stack = {{"torch/nn.py", 2, "g", "", false}};
  ASSERT_TRUE(Put({forward, backward, library, MakeNode(4, "n", 4)}).ok());
  EXPECT_EQ(store_.SourceOf(0)->line, 7u);
  EXPECT_EQ(store_.SourceOf(1)->line, 7u);
  EXPECT_EQ(store_.SourceOf(2)->line, 2u);
  EXPECT_EQ(store_.SourceOf(3), nullptr);
}

TEST_F(GraphStoreTest, ShowsModulesBeforeTheirOpsAreKnown) {
  GraphPatch patch;
  patch.scope_types = {{"forward/conv1", "Conv2d"}};
  ASSERT_TRUE(store_.Apply(patch, ids_).ok());
  const auto view = View("forward");
  ASSERT_EQ(view.nodes.size(), 1u);
  EXPECT_EQ(view.nodes[0].kind, model::NodeKind::kScope);
  EXPECT_EQ(view.nodes[0].op_type, "Conv2d");
  EXPECT_EQ(view.nodes[0].descendant_count, 0u);
}

TEST_F(GraphStoreTest, KeepsGraphsApart) {
  ASSERT_TRUE(Put({MakeNode(1, "s/x", 1)}).ok());
  ASSERT_TRUE(Put({MakeNode(2, "s/y", 2, {{1, 0}})}, "eval").ok());
  EXPECT_EQ(View("s").nodes.size(), 1u);
  EXPECT_EQ(View("s", "main").nodes[0].label, "x");
  EXPECT_EQ(View("s", "eval").nodes[0].label, "y");
  EXPECT_EQ(GraphView(store_, none_).Graphs().size(), 2u);
}

TEST_F(GraphStoreTest, RefusesNamesAndIdsThatCannotBe) {
  EXPECT_EQ(ReasonOf(Put({MakeNode(1, "a//b", 1)})), "invalid_name");
  EXPECT_EQ(ReasonOf(Put({MakeNode(1, "/a", 1)})), "invalid_name");
  EXPECT_EQ(ReasonOf(Put({MakeNode(1, "a/", 1)})), "invalid_name");
  EXPECT_EQ(ReasonOf(Put({MakeNode(1, "", 1)})), "invalid_name");
  EXPECT_EQ(ReasonOf(Put({MakeNode(0, "a", 1)})), "invalid_node");
  ASSERT_TRUE(Put({MakeNode(1, "a", 1)}).ok());
  EXPECT_EQ(ReasonOf(Put({MakeNode(1, "b", 1)})), "invalid_node");
}

TEST(GraphLimitsTest, RefusesMoreThanItMayHold) {
  GraphLimits limits;
  limits.max_nodes = 2;
  limits.max_scopes = 4;
  GraphStore store(limits);
  AgentIds ids;
  GraphPatch patch;
  patch.nodes = {MakeNode(1, "a", 1), MakeNode(2, "b", 2), MakeNode(3, "c", 3)};
  const absl::Status full = store.Apply(patch, ids);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store.node_count(), 2u);
  patch.nodes = {};
  patch.scope_types = {{"a/b/c/d/e", "M"}};
  EXPECT_EQ(store.Apply(patch, ids).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(GraphLimitsTest, CountsTheBytesOfWhatItHolds) {
  GraphLimits limits;
  limits.max_bytes = 100'000;
  GraphStore store(limits);
  AgentIds ids;
  GraphPatch patch;
  patch.nodes = {MakeNode(1, "a", 1)};
  patch.nodes[0].attributes["big"] = std::string(60'000, 'x');
  // Reporting the same nodes again replaces them.
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  patch.nodes[0].id = 2;
  patch.nodes[0].name = "b";
  EXPECT_EQ(store.Apply(patch, ids).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(GraphLimitsTest, RefusesLongNamesDeepScopesAndLongAttributes) {
  GraphStore store;
  AgentIds ids;
  const auto put = [&](NodeRecord node) {
    GraphPatch patch;
    patch.nodes = {std::move(node)};
    return store.Apply(patch, ids);
  };
  EXPECT_TRUE(put(MakeNode(1, std::string(4'096, 'x'), 1)).ok());
  const absl::Status name = put(MakeNode(2, std::string(4'097, 'x'), 1));
  EXPECT_EQ(ReasonOf(name), "invalid_name");
  // Errors do not repeat the whole name.
  EXPECT_LT(name.message().size(), 500u);
  std::string deep = "s";
  for (int i = 1; i < 64; ++i) deep += "/s";
  EXPECT_TRUE(put(MakeNode(3, deep, 1)).ok());
  EXPECT_EQ(ReasonOf(put(MakeNode(4, deep + "/s", 1))), "invalid_name");
  NodeRecord node = MakeNode(5, "a", 1);
  node.attributes["value"] = std::string(64 << 10, 'x');
  EXPECT_TRUE(put(node).ok());
  node.attributes["value"] += "x";
  EXPECT_EQ(ReasonOf(put(node)), "invalid_node");
}

TEST(GraphLimitsTest, CountsEdgesWhetherOrNotTheirProducersAreKnown) {
  GraphLimits limits;
  limits.max_edges = 3;
  GraphStore store(limits);
  AgentIds ids;
  GraphPatch patch;
  patch.nodes = {MakeNode(1, "a", 1, {{9, 0}}),
                 MakeNode(2, "b", 2, {{1, 0}, {1, 1}})};
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  // Replaced edges do not count.
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  patch.nodes = {MakeNode(3, "c", 3, {{1, 0}})};
  const absl::Status full = store.Apply(patch, ids);
  EXPECT_EQ(ReasonOf(full), "graph_too_large");
  // The refused node has no edge.
  EXPECT_EQ(store.node(0).consumers.size(), 2u);
  patch.nodes = {MakeNode(2, "b", 2)};
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  patch.nodes = {MakeNode(3, "c", 3, {{1, 0}})};
  EXPECT_TRUE(store.Apply(patch, ids).ok());
}

TEST(GraphLimitsTest, KeepsNothingOfTheNodeThatGoesOverTheLimit) {
  GraphLimits limits;
  limits.max_bytes = 100'000;
  GraphStore store(limits);
  AgentIds ids;
  GraphPatch patch;
  patch.nodes = {MakeNode(1, "a", 1), MakeNode(2, "s/b", 2),
                 MakeNode(3, "c", 3)};
  for (NodeRecord& node : patch.nodes) {
    node.attributes["big"] = std::string(60'000, 'x');
  }
  GraphChanges changes;
  const absl::Status full = store.Apply(patch, ids, &changes);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("s/b"), absl::string_view::npos) << full;
  EXPECT_EQ(store.node_count(), 1u);
  EXPECT_EQ(changes.nodes, std::vector<NodeIndex>{0});
  EXPECT_EQ(changes.ids.size(), 1u);
  EXPECT_LE(store.bytes(), limits.max_bytes);
  EXPECT_EQ(store.node(0).attributes.size(), 1u);
}

TEST(GraphLimitsTest, RestoresATenthMoreThanItAccepts) {
  GraphLimits limits;
  limits.max_nodes = 20;
  limits.max_bytes = 100'000;
  std::vector<GraphPatch> patches(1);
  patches[0].nodes = {MakeNode(1, "a", 1)};
  auto& attributes = patches[0].nodes[0].attributes;
  attributes["one"] = std::string(60'000, 'x');
  attributes["other"] = std::string(45'000, 'x');
  EXPECT_TRUE(GraphStore(limits).RestorePatches(patches).ok());
  GraphStore store(limits);
  AgentIds ids;
  EXPECT_FALSE(store.Apply(patches[0], ids).ok());
  attributes["other"] = std::string(55'000, 'x');
  EXPECT_FALSE(GraphStore(limits).RestorePatches(patches).ok());
}

NodeRecord WithDigest(NodeRecord record, Digest digest) {
  record.digest = digest;
  return record;
}

TEST_F(GraphStoreTest, ANodeIsFoundByTheDigestOfWhatItIsNow) {
  ASSERT_TRUE(Put({WithDigest(MakeNode(1, "a", 1), 5)}).ok());
  EXPECT_EQ(store_.FindDigest(5), store_.FindNode("a"));
  EXPECT_EQ(store_.FindDigest(0), kNoNode);
  // From another agent, which has the same node under another id.
  AgentIds other;
  GraphChanges changes;
  store_.AddKnown(9, store_.FindDigest(5), other, changes);
  EXPECT_EQ(other.Find(9), store_.FindNode("a"));
  EXPECT_TRUE(changes.nodes.empty());
  ASSERT_TRUE(Put({WithDigest(MakeNode(1, "a", 2), 6)}).ok());
  EXPECT_EQ(store_.FindDigest(5), kNoNode);
  EXPECT_EQ(store_.FindDigest(6), store_.FindNode("a"));
  // An agent without digests: the same content, and another one.
  ASSERT_TRUE(Put({MakeNode(1, "a", 2)}).ok());
  EXPECT_EQ(store_.FindDigest(6), store_.FindNode("a"));
  ASSERT_TRUE(Put({MakeNode(1, "a", 3)}).ok());
  EXPECT_EQ(store_.FindDigest(6), kNoNode);
}

TEST_F(GraphStoreTest, ANodeWithoutAllItsInputsIsNotFoundByItsDigest) {
  const NodeRecord node = WithDigest(MakeNode(2, "b", 2, {{1, 0}}), 7);
  ASSERT_TRUE(Put({node}).ok());
  EXPECT_EQ(store_.FindDigest(7), kNoNode);
  ASSERT_TRUE(Put({MakeNode(1, "a", 1)}).ok());
  EXPECT_EQ(store_.FindDigest(7), kNoNode);
  ASSERT_TRUE(Put({node}).ok());
  EXPECT_EQ(store_.FindDigest(7), store_.FindNode("b"));
}

TEST_F(GraphStoreTest, IdsHaveALimit) {
  EXPECT_FALSE(Put({MakeNode(NodeIds::kMaxId + 1, "a", 1)}).ok());
  EXPECT_TRUE(Put({MakeNode(NodeIds::kMaxId, "a", 1)}).ok());
}

TEST(SourceFilesTest, TheyAreKnownByTheirDigest) {
  GraphStore store;
  AgentIds ids;
  GraphPatch patch;
  patch.files = {{"a.py", "one"}};
  ASSERT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_FALSE(store.HasFile("a.py", 0));
  EXPECT_FALSE(store.HasFile("a.py", 5));
  patch.files[0].digest = 5;
  ASSERT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_TRUE(store.HasFile("a.py", 5));
  EXPECT_FALSE(store.HasFile("b.py", 5));
  patch.files = {{"a.py", "two", 6}};
  ASSERT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_FALSE(store.HasFile("a.py", 5));
}

TEST(DigestTest, ItsBytesAreInTheOrderOfTheWire) {
  const std::string bytes = "\x01" + std::string(13, '\0') + "\x02\xFF";
  EXPECT_EQ(absl::Uint128High64(DigestOf(bytes)), uint64_t{1} << 56);
  EXPECT_EQ(absl::Uint128Low64(DigestOf(bytes)), 0x2FFu);
  EXPECT_EQ(BytesOf(DigestOf(bytes)), bytes);
  EXPECT_TRUE(DigestOf("short") == 0);
}

TEST(SourceFilesTest, TheNewestTextIsKept) {
  GraphStore store;
  AgentIds ids;
  GraphChanges changes;
  GraphPatch patch;
  patch.files = {{"a.py", "one"}, {"b.py", ""}};
  EXPECT_TRUE(patch.changes_graph());
  ASSERT_TRUE(store.Apply(patch, ids, &changes).ok());
  EXPECT_EQ(changes.files, (std::vector<std::string>{"a.py", "b.py"}));
  // Another rank, or the same process after a reconnection.
  GraphChanges again;
  ASSERT_TRUE(store.Apply(patch, ids, &again).ok());
  EXPECT_TRUE(again.files.empty());
  // A later process of the job.
  const uint64_t bytes = store.bytes();
  patch.files = {{"a.py", "longer"}};
  ASSERT_TRUE(store.Apply(patch, ids, &again).ok());
  EXPECT_EQ(again.files, std::vector<std::string>{"a.py"});
  EXPECT_EQ(*store.FileText("a.py"), "longer");
  EXPECT_EQ(*store.FileText("b.py"), "");
  EXPECT_EQ(store.FileText("c.py"), nullptr);
  EXPECT_EQ(store.bytes(), bytes + 3);
}

TEST(SourceFilesTest, ThoseBeyondTheLimitAreLeftOut) {
  GraphLimits limits;
  limits.max_files = 2;
  limits.max_file_bytes = 10;
  GraphStore store(limits);
  AgentIds ids;
  GraphPatch patch;
  patch.files = {{"a", "12345678"}, {"b", "123"}, {"c", "12"}, {"d", ""}};
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_NE(store.FileText("a"), nullptr);
  EXPECT_EQ(store.FileText("b"), nullptr);
  EXPECT_NE(store.FileText("c"), nullptr);
  EXPECT_EQ(store.FileText("d"), nullptr);
  // Those that are there may change within the limits.
  patch.files = {{"a", "1234"}, {"c", "123456"}};
  EXPECT_TRUE(store.Apply(patch, ids).ok());
  EXPECT_EQ(*store.FileText("a"), "1234");
  EXPECT_EQ(*store.FileText("c"), "123456");
}

}  // namespace
}  // namespace graphdbg::graph
