#include "agent/onnx_splitter/graph_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/limits.h"
#include "proto/wire/validate.h"

namespace graphdbg::onnx_splitter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

onnx::ModelProto Parsed(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

class GraphMessagesTest : public testing::Test {
 protected:
  absl::Status Write(const onnx::ModelProto& model) {
    std::stringstream stream;
    const absl::Status status = WriteGraph(model, "m", &stream);
    google::protobuf::io::IstreamInputStream input(&stream);
    v1::AgentMessage message;
    while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(
        &message, &input, nullptr)) {
      EXPECT_TRUE(wire::Validate(message).ok());
      if (message.has_log()) lines_.push_back(message.log().message());
      for (const v1::Node& node : message.graph().nodes()) {
        EXPECT_EQ(message.graph().graph(), "m");
        nodes_[node.name()] = node;
      }
      scopes_.insert(message.graph().scope_types().begin(),
                     message.graph().scope_types().end());
      ++messages_;
      message.Clear();
    }
    return status;
  }

  std::map<std::string, v1::Node> nodes_;
  std::map<std::string, std::string> scopes_;
  std::vector<std::string> lines_;
  int messages_ = 0;
};

TEST_F(GraphMessagesTest, WritesNodesAsAnAgentSendsThem) {
  ASSERT_TRUE(Write(Parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) <float[2] w = {1, 2}>
      { a = Add(x, w) y = Relu(a) })"))
                  .ok());
  ASSERT_EQ(nodes_.size(), 4u);
  EXPECT_EQ(nodes_["m/w"].kind(), v1::NODE_KIND_PARAMETER);
  EXPECT_EQ(nodes_["m/w"].category(), v1::NODE_CATEGORY_WEIGHT);
  EXPECT_EQ(nodes_["m/x"].kind(), v1::NODE_KIND_INPUT);
  const v1::Node& add = nodes_["m/Add"];
  EXPECT_EQ(add.op_type(), "Add");
  ASSERT_EQ(add.inputs_size(), 2);
  EXPECT_EQ(add.inputs(0).node_id(), nodes_["m/x"].id());
  EXPECT_EQ(add.inputs(1).node_id(), nodes_["m/w"].id());
  ASSERT_EQ(add.outputs_size(), 1);
  EXPECT_EQ(add.outputs(0).type().dtype(), v1::DTYPE_FLOAT32);
  EXPECT_THAT(add.outputs(0).type().shape(), ElementsAre(2));
  EXPECT_TRUE(lines_.empty());
}

// The file that external data refers to is not opened either.
TEST_F(GraphMessagesTest, WeightsAreNotNeeded) {
  onnx::ModelProto model = Parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { y = Add(x, w) })");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(int64_t{1} << 40);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *weight.add_external_data();
  entry.set_key("location");
  entry.set_value("/etc/passwd");
  ASSERT_TRUE(Write(model).ok());
  EXPECT_THAT(nodes_["m/w"].outputs(0).type().shape(),
              ElementsAre(int64_t{1} << 40));
}

TEST_F(GraphMessagesTest, BodiesAreScopes) {
  ASSERT_TRUE(Write(Parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Relu(x) },
                    else_branch = e () => (float[2] b) { b = Neg(x) }>
      })"))
                  .ok());
  EXPECT_EQ(scopes_["m/If.then_branch"], "If then_branch");
  EXPECT_TRUE(nodes_["m/If.then_branch/Relu"].attributes().empty());
}

TEST_F(GraphMessagesTest, NodesOfOpaqueBodiesAreMarkedAsNotCaptured) {
  ASSERT_TRUE(Write(Parsed(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
      g (float[2] x) => (float[2] y) {
        y = my.Search (x) <body = t (float[2] v) => (float[2] a) { a = Relu(v) }>
      })"))
                  .ok());
  EXPECT_THAT(nodes_["m/Search.body/Relu"].attributes().at("not captured"),
              HasSubstr("inside the body of a Search, which"));
  EXPECT_EQ(nodes_["m/Search"].attributes().count("not captured"), 0u);
  onnx::ModelProto old = Parsed(R"(<ir_version: 8, opset_import: ["" : 8]>
      g (int64[1] n, float[1,2,2] s) => (float[1,2,2] y) {
        y = Scan (n, s) <body = t (float[2] v) => (float[2] a)
                      { a = Relu(v) }, num_scan_inputs = 1>
      })");
  ASSERT_TRUE(Write(old).ok());
  EXPECT_THAT(nodes_["m/Scan.body/Relu"].attributes().at("not captured"),
              HasSubstr("inside the body of a Scan of opset 8, which"));
}

TEST_F(GraphMessagesTest, LargeGraphsAreSplitIntoManyMessages) {
  onnx::ModelProto model = Parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { y = Relu(x) })");
  for (int i = 0; i < 20000; ++i) {
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Neg");
    node.set_name("a/rather/long/name/" + std::to_string(i));
    node.add_input(i == 0 ? "y" : "v" + std::to_string(i - 1));
    node.add_output("v" + std::to_string(i));
  }
  ASSERT_TRUE(Write(model).ok());
  EXPECT_EQ(nodes_.size(), 20002u);
  EXPECT_GT(messages_, 1);
}

TEST_F(GraphMessagesTest, CyclesAreRejected) {
  const absl::Status status =
      Write(Parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Add(x, y) y = Relu(a) })"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("node Add depends"));
  EXPECT_EQ(messages_, 0);
}

}  // namespace
}  // namespace graphdbg::onnx_splitter
