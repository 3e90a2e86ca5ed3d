// Tensors of MindSpore jobs: requested through the API and sent by the client
// in the way of its release.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/mindspore_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;
using debugger::TensorProto;
using debugger::ViewCMD;
using http::testing::Reply;

constexpr char kConstant[] =
    "Gradients/Default/network-WithLossCell/"
    "_loss_fn-SoftmaxCrossEntropyWithLogits/"
    "gradSoftmaxCrossEntropyWithLogits/cst8";

class MindSporeViewTest : public MindSporeFixture {
 protected:
  std::string Name(const std::string& node, int slot = 0) {
    return "name=" + UrlEncoded(node + ":" + std::to_string(slot));
  }
  static Json BodyOf(std::future<Reply>& reply, int status = 200) {
    const Reply came = reply.get();
    EXPECT_EQ(came.status, status) << came.body;
    return Json::parse(came.body);
  }
  void RunOneStep(MindSporeClient& client, std::future<EventReply>& asking,
                  int step, const std::string& node = "") {
    Control({{"command", "step"}});
    EXPECT_EQ(RunLevel(asking.get()), "step");
    asking = AskAt(client, step, node);
    AwaitPause("step", step);
  }
  void End(std::future<EventReply>& asking) {
    Control({{"command", "terminate"}});
    EXPECT_TRUE(asking.get().exit());
  }
};

// A float tensor with the values 0, 1, 2 and so on.
TensorProto Counting(const TensorProto& asked,
                     const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return FloatTensor(asked, dims, values);
}

// Splits a tensor that is too large for one message, as clients do.
std::vector<TensorProto> InTwoPieces(const TensorProto& tensor) {
  std::vector<TensorProto> pieces(2, tensor);
  const std::string& content = tensor.tensor_content();
  const size_t half = content.size() / 2;
  pieces[0].set_tensor_content(content.substr(0, half));
  pieces[0].set_finished(false);
  pieces[1].set_tensor_content(content.substr(half));
  return pieces;
}

TEST_F(MindSporeViewTest, ValuesAreCutOutOfWholeTensors) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  RunOneStep(client, asking, 1);
  auto slice = AskForTensor(
      "tensor", Name(kWeight) + "&slice=" + UrlEncoded("[1:3,0,0,:2]"));
  const ViewCMD view = asking.get().view_cmd();
  EXPECT_EQ(view.level(), ViewCMD::value);
  ASSERT_EQ(view.tensors_size(), 1);
  EXPECT_EQ(view.tensors(0).node_name(), kWeight);
  EXPECT_EQ(view.tensors(0).slot(), "0");
  EXPECT_EQ(view.tensors(0).iter(), "");
  EXPECT_TRUE(view.tensors(0).truncate());
  EXPECT_TRUE(
      client.SendTensors(InTwoPieces(Counting(view.tensors(0), {6, 1, 5, 5}))));
  asking = Ask(client);
  const Json answer = BodyOf(slice);
  EXPECT_EQ(answer.at("data"), Json({{25, 26}, {50, 51}}));
  EXPECT_EQ(answer.at("step"), 1);
  EXPECT_EQ(answer.at("dtype"), "float32");

  // While the job is paused, the client is not asked for it again.
  auto statistics = AskForTensor("tensor/statistics", Name(kWeight));
  const Json measured = BodyOf(statistics).at("statistics");
  EXPECT_EQ(measured.at("count"), 150);
  EXPECT_EQ(measured.at("mean"), 74.5);
  EXPECT_EQ(measured.at("max"), 149);
  End(asking);
}

TEST_F(MindSporeViewTest, TheStepBeforeIsThereForParametersAlone) {
  MindSporeClient client = Client("1.3.0", "Ascend");
  auto asking = Begin(client);
  RunOneStep(client, asking, 1);
  auto before = AskForTensor("tensor", Name(kWeight) + "&step=previous");
  const ViewCMD view = asking.get().view_cmd();
  EXPECT_EQ(view.tensors(0).iter(), "prev");
  EXPECT_TRUE(client.SendTensors({Counting(view.tensors(0), {6, 1, 5, 5})}));
  asking = Ask(client);
  EXPECT_EQ(BodyOf(before).at("step"), 0);
  auto op = AskForTensor("tensor", Name(kConv) + "&step=previous");
  EXPECT_EQ(BodyOf(op, 404).at("code"), "value_gone");
  End(asking);
}

TEST_F(MindSporeViewTest, ConstantsThatTheGraphHoldsAreNotAskedFor) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  auto constant = AskForTensor("tensor", Name(kConstant) + "&slice=[0]");
  EXPECT_EQ(BodyOf(constant).at("data"), Json({0.03125}));
  End(asking);
}

// From 1.6 on, the graph contains neither values nor types of tensors. The
// client reports the size first.
TEST_F(MindSporeViewTest, ConstantsWithoutAValueAreFetched) {
  debugger::GraphProto graph = LargeGraph("kernel_graph_0", 1);
  graph.mutable_node(0)->add_input()->set_name("cst1");
  debugger::NamedValueProto& constant = *graph.add_const_vals();
  constant.set_key("cst1");
  constant.set_full_name("Default--data-1");
  MindSporeClient client = Client("1.8.1", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(graph.SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  auto value =
      AskForTensor("tensor", Name("Default/net/layer/Default--data-1"));
  const ViewCMD probe = asking.get().view_cmd();
  EXPECT_EQ(probe.level(), ViewCMD::base);
  EXPECT_EQ(probe.tensors(0).node_name(), "Default--data-1");
  EXPECT_TRUE(probe.tensors(0).truncate());
  debugger::TensorBase base;
  base.set_data_type(debugger::DT_FLOAT32);
  base.add_shape(3);
  base.set_data_size(12);
  EXPECT_TRUE(client.SendBases({base}));
  const ViewCMD view = client.Ask().view_cmd();
  EXPECT_EQ(view.level(), ViewCMD::value);
  EXPECT_TRUE(client.SendTensors({Counting(view.tensors(0), {3})}));
  asking = Ask(client);
  EXPECT_EQ(BodyOf(value).at("data"), Json({0, 1, 2}));
  End(asking);
}

// The client measures large tensors. Statistics that it computes wrongly are
// omitted.
TEST_F(MindSporeViewTest, LargeTensorsAreMeasuredByTheClient) {
  constexpr int kRows = 4'096, kColumns = 2'048;
  debugger::GraphProto graph = LargeGraph("kernel_graph_0", 1);
  auto& shape = *graph.mutable_node(0)
                     ->mutable_output_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_size(kRows);
  shape.mutable_dim(1)->set_size(kColumns);
  MindSporeClient client = Client("1.5.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(graph.SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  RunOneStep(client, asking, 1);
  auto statistics =
      AskForTensor("tensor/statistics", Name("Default/net/layer/ReLU-op1"));
  const ViewCMD view = asking.get().view_cmd();
  EXPECT_EQ(view.level(), ViewCMD::statistics);
  debugger::TensorSummary summary;
  summary.mutable_tensor_base()->set_data_type(debugger::DT_FLOAT32);
  summary.mutable_tensor_base()->add_shape(kRows);
  summary.mutable_tensor_base()->add_shape(kColumns);
  debugger::Statistics& measured = *summary.mutable_statistics();
  measured.set_count(kRows * kColumns);
  measured.set_max_value(5);
  measured.set_min_value(-1);
  measured.set_avg_value(4711);
  measured.set_neg_zero_count(7);
  EXPECT_TRUE(client.SendStatistics({summary}));
  asking = Ask(client);
  const Json answer = BodyOf(statistics);
  EXPECT_EQ(answer.at("shape"), Json({kRows, kColumns}));
  const Json numbers = answer.at("statistics");
  EXPECT_EQ(numbers.at("count"), kRows * kColumns);
  EXPECT_EQ(numbers.at("max"), 5);
  EXPECT_EQ(numbers.at("min"), -1);
  EXPECT_EQ(numbers.at("negative_count"), 7);
  // The client averages only a part of the tensor.
  EXPECT_TRUE(numbers.at("mean").is_null());
  End(asking);
}

// A mock client sends values whatever level was requested.
TEST_F(MindSporeViewTest, ValuesAnswerEveryLevel) {
  debugger::GraphProto graph = LargeGraph("kernel_graph_0", 1);
  auto& shape = *graph.mutable_node(0)
                     ->mutable_output_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_size(10'000'000);
  MindSporeClient client = Client("2.2.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(graph.SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  auto statistics =
      AskForTensor("tensor/statistics", Name("Default/net/layer/ReLU-op1"));
  const ViewCMD view = asking.get().view_cmd();
  EXPECT_EQ(view.level(), ViewCMD::statistics);
  EXPECT_TRUE(
      client.SendTensors(InTwoPieces(Counting(view.tensors(0), {2, 3}))));
  asking = Ask(client);
  EXPECT_EQ(BodyOf(statistics).at("statistics").at("mean"), 2.5);
  End(asking);
}

TEST_F(MindSporeViewTest, WhatIsNotThereOrEmptyEndsAsSuch) {
  constexpr int kAsked = 10;
  debugger::GraphProto graph = LargeGraph("kernel_graph_0", kAsked);
  graph.mutable_node(kAsked - 1)
      ->mutable_output_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_size(0);
  MindSporeClient client = Client("1.2.0", "GPU");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(graph.SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  std::vector<std::future<Reply>> replies;
  for (int i = 1; i <= kAsked; ++i) {
    replies.push_back(AskForTensor(
        "tensor", Name("Default/net/layer/ReLU-op" + std::to_string(i))));
  }
  int asked = 0;
  while (asked < kAsked) {
    const EventReply reply = asking.get();
    std::vector<TensorProto> tensors;
    for (const TensorProto& tensor : reply.view_cmd().tensors()) {
      ++asked;
      const std::string& name = tensor.node_name();
      const int number = std::stoi(name.substr(name.rfind("op") + 2));
      // The client sends nothing for an empty tensor.
      if (number == kAsked) continue;
      tensors.push_back(number <= 3 ? NoTensor(tensor)
                                    : Counting(tensor, {2, 3}));
    }
    ASSERT_GT(reply.view_cmd().tensors_size(), 0);
    EXPECT_TRUE(client.SendTensors(tensors));
    asking = Ask(client);
  }
  for (int i = 0; i < kAsked; ++i) {
    SCOPED_TRACE(i + 1);
    if (i < 3) {
      const Json gone = BodyOf(replies[i], 404);
      EXPECT_EQ(gone.at("code"), "value_gone");
      // The error names the remedy.
      EXPECT_NE(gone.at("detail").get<std::string>().find("GPU"),
                std::string::npos);
    } else if (i + 1 == kAsked) {
      EXPECT_EQ(BodyOf(replies[i]).at("data"), Json::array());
    } else {
      EXPECT_EQ(BodyOf(replies[i]).at("data"), Json({{0, 1, 2}, {3, 4, 5}}));
    }
  }
  End(asking);
}

// A GPU keeps only watched tensors, so catching a tensor watches it without a
// condition.
TEST_F(MindSporeViewTest, CatchingATensorKeepsItFromTheNextStepOn) {
  MindSporeClient client = Client("1.2.0", "GPU");
  auto asking = Begin(client);
  const Json body = {{"node", kConv}};
  EXPECT_EQ(
      server()
          .Fetch("POST", "/api/v1/jobs/mindspore-0/tensor/catch", body.dump())
          .status,
      202);
  const debugger::SetCMD command = asking.get().set_cmd();
  ASSERT_EQ(command.watch_nodes_size(), 1);
  EXPECT_EQ(command.watch_nodes(0).node_name(), kConv);
  for (const auto& param : command.watch_condition().params()) {
    EXPECT_TRUE(param.disabled()) << param.name();
  }
  asking = Ask(client);
  End(asking);
}

}  // namespace
}  // namespace graphdbg::integration
