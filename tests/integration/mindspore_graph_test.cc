// Graphs of MindSpore jobs: the chunks in which they arrive, and how clients
// see them.
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/mindspore_fixture.h"
#include "tests/integration/patience.h"

namespace graphdbg::integration {
namespace {

using debugger::Chunk;
using debugger::GraphProto;

constexpr size_t kPieceBytes = 3'145'728;
constexpr char kApi[] = "/api/v1/jobs/mindspore-0/";

class MindSporeGraphTest : public MindSporeFixture {
 protected:
  Json Node(const std::string& name) {
    return server().Get(std::string(kApi) +
                        "graph/node?name=" + UrlEncoded(name));
  }
  Json Graphs() {
    return server().Get(std::string(kApi) + "graphs").at("graphs");
  }
  // Connects a client and lets it call, so that its job exists.
  std::future<debugger::EventReply> BeginWith(MindSporeClient& client,
                                              const std::vector<Chunk>& chunks,
                                              bool several) {
    EXPECT_TRUE(client.SendMetadata().version_matched());
    EXPECT_TRUE(client.SendChunks(chunks, several));
    auto asking = Ask(client);
    AwaitPause("start", 0);
    return asking;
  }
  void End(std::future<debugger::EventReply>& asking) {
    Control({{"command", "terminate"}});
    EXPECT_TRUE(asking.get().exit());
  }
};

Chunk Piece(const std::string& bytes, size_t number, bool finished) {
  Chunk chunk;
  chunk.set_buffer(bytes.substr(number * kPieceBytes, kPieceBytes));
  chunk.set_finished(finished);
  return chunk;
}

TEST_F(MindSporeGraphTest, ShowsOpsParametersAndConstants) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);

  const Json conv = Node(kConv);
  EXPECT_EQ(conv.at("kind"), "op");
  EXPECT_EQ(conv.at("op_type"), "Conv2D");
  EXPECT_EQ(conv.at("outputs").at(0).at("shape"), Json({32, 6, 28, 28}));
  EXPECT_FALSE(conv.at("attributes").empty());

  // Parameters, which have no scope on the wire, are placed beside their
  // consumer.
  const Json weight = Node(kWeight);
  EXPECT_EQ(weight.at("kind"), "parameter");
  EXPECT_EQ(weight.at("category"), "weight");
  EXPECT_EQ(weight.at("outputs").at(0).at("dtype"), "float32");
  EXPECT_EQ(weight.at("outputs").at(0).at("shape"), Json({6, 1, 5, 5}));

  // A node that reads one of several outputs names it.
  const Json pick = Node("Default/optimizer-Momentum/tuple_getitem-op250");
  ASSERT_FALSE(pick.at("inputs").empty());
  EXPECT_NE(pick.at("inputs").at(0).at("node").get<std::string>().find(
                "ApplyMomentum"),
            std::string::npos);
  EXPECT_EQ(pick.at("inputs").at(0).at("slot"), 1);

  const Json weights =
      server().Get(std::string(kApi) + "graph/search?category=weight");
  EXPECT_EQ(weights.at("nodes").size(), 8u);
  const Json constants =
      server().Get(std::string(kApi) + "graph/search?kind=constant");
  EXPECT_EQ(constants.at("nodes").size(), 37u);
  const Json constant =
      Node(constants.at("nodes").at(0).at("name").get<std::string>());
  EXPECT_FALSE(constant.at("attributes").at("value").empty());
  End(asking);
}

TEST_F(MindSporeGraphTest, IsAnOnnxFileThatTheCheckerTakes) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const auto file =
      server().Fetch("GET", std::string(kApi) + "graph/export?format=onnx");
  ASSERT_EQ(file.status, 200) << file.body;
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(file.body));
  EXPECT_NO_THROW(onnx::checker::check_model(model));
  EXPECT_EQ(
      std::count_if(model.graph().node().begin(), model.graph().node().end(),
                    [](const onnx::NodeProto& node) {
                      return node.name() == kConv && node.op_type() == "Conv2D";
                    }),
      1);
  End(asking);
}

// A client of 1.2 with graphs of several chunks: the last chunk is sent twice,
// and the first chunk of the second graph is marked as the last.
TEST_F(MindSporeGraphTest, RepairsTheFaultsOfOldClients) {
  if (kMegabytesTakeMinutes) GTEST_SKIP() << "messages of megabytes";
  const std::string first =
      LargeGraph("kernel_graph_0", 40'000).SerializeAsString();
  const std::string second =
      LargeGraph("kernel_graph_1", 50'000, "head").SerializeAsString();
  for (const std::string& graph : {first, second}) {
    ASSERT_GT(graph.size(), kPieceBytes);
    ASSERT_LT(graph.size(), 2 * kPieceBytes);
  }
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = BeginWith(
      client,
      {Piece(first, 0, false), Piece(first, 1, false), Piece(first, 1, true),
       Piece(second, 0, true), Piece(second, 1, false), Piece(second, 1, true)},
      true);
  const Json graphs = Graphs();
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs.at(0).at("node_count"), 40'000);
  EXPECT_EQ(graphs.at(1).at("node_count"), 50'000);
  End(asking);
}

TEST_F(MindSporeGraphTest, TakesSeveralGraphsOfReleasesWithoutFaults) {
  if (kMegabytesTakeMinutes) GTEST_SKIP() << "messages of megabytes";
  MindSporeClient client = Client("2.2.0", "GPU");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendMultiGraphs(
      {LeNet(), LargeGraph("kernel_graph_7", 30'000).SerializeAsString()}));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  const Json graphs = Graphs();
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs.at(0).at("node_count"), 104 + 20 + 37);
  EXPECT_EQ(graphs.at(1).at("id"), "kernel_graph_7");
  EXPECT_EQ(graphs.at(1).at("node_count"), 30'000);
  End(asking);
}

TEST_F(MindSporeGraphTest, NamesThatAreNoTextDoNotHurt) {
  const std::string bytes = "Default/\xff\xfe";
  GraphProto graph = LargeGraph("kernel_graph_0", 2);
  graph.mutable_node(0)->set_full_name(bytes);
  MindSporeClient client = Client("1.2.0", "GPU");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(graph.SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  const Json nodes = server().Get(std::string(kApi) + "graph/search?kind=op");
  ASSERT_EQ(nodes.at("nodes").size(), 2u);
  std::string shown;
  for (const Json& node : nodes.at("nodes")) {
    if (node.at("name") != graph.node(1).full_name()) shown = node.at("name");
  }
  // View commands name tensors by bytes, so the client receives the name
  // unchanged.
  auto value = AskForTensor("tensor", "name=" + UrlEncoded(shown + ":0"));
  const debugger::ViewCMD view = asking.get().view_cmd();
  ASSERT_EQ(view.tensors_size(), 1);
  EXPECT_EQ(view.tensors(0).node_name(), bytes);
  EXPECT_TRUE(client.SendTensors({FloatTensor(view.tensors(0), {1}, {7})}));
  asking = Ask(client);
  EXPECT_EQ(Json::parse(value.get().body).at("data"), Json({7}));
  // Watchpoints name them by text; the client could not parse such a command.
  Watch({{"condition", {{"id", "nan"}}}});
  const debugger::SetCMD set = asking.get().set_cmd();
  asking = Ask(client);
  ASSERT_EQ(set.watch_nodes_size(), 1);
  EXPECT_EQ(set.watch_nodes(0).node_name(), graph.node(1).full_name());
  End(asking);
}

TEST_F(MindSporeGraphTest, WhatIsNoGraphIsRefusedAndHarmsNobody) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  Chunk garbage;
  garbage.set_buffer("\x0a\xff");
  EXPECT_FALSE(client.SendChunks({garbage}, false));
  EXPECT_TRUE(client.SendGraph(LeNet()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  EXPECT_EQ(Graphs().at(0).at("node_count"), 104 + 20 + 37);
  End(asking);
}

}  // namespace
}  // namespace graphdbg::integration
