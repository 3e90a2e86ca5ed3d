#include "server/exporters/onnx_graph.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

namespace graphdbg::exporters {
namespace {

using model::EdgeKind;
using model::ExportNode;
using model::NodeKind;

ExportNode Make(const std::string& name, NodeKind kind,
                const std::string& op_type, uint64_t order) {
  ExportNode node;
  node.node.name = name;
  node.node.kind = kind;
  node.node.op_type = op_type;
  node.node.order = order;
  node.node.outputs = {{0, {DType::kFloat32, {2, 3}}}};
  return node;
}

//  weight ─► addmm ─► relu; sgd runs last and computes the next weight.
class OnnxGraphTest : public testing::Test {
 protected:
  OnnxGraphTest() {
    nodes_ = {Make("fc/weight", NodeKind::kParameter, "", 0),
              Make("relu", NodeKind::kOp, "aten::relu", 2),
              Make("fc/addmm", NodeKind::kOp, "aten::addmm", 1),
              Make("sgd", NodeKind::kOp, "SgdStep", 3)};
    Connect("fc/weight", 0, 2);
    Connect("fc/addmm", 1, 1);
    nodes_[2].attributes = {{"alpha", "1"}};
    nodes_[2].node.source =
        model::SourceLine{"train.py", 12, "forward", "", true};
  }

  void Connect(const std::string& from, uint32_t slot, size_t to,
               EdgeKind kind = EdgeKind::kData) {
    auto& inputs = nodes_[to].inputs;
    inputs.push_back({from, slot, nodes_[to].node.name,
                      static_cast<uint32_t>(inputs.size()), kind});
  }

  // Exports a model that passes ONNX's own checker.
  onnx::ModelProto Export() {
    onnx::ModelProto model;
    auto bytes = ToOnnx(nodes_, {"main", "1.2.3"});
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_TRUE(model.ParseFromString(*bytes));
    try {
      onnx::checker::check_model(model);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    return model;
  }

  static std::vector<std::string> Names(
      const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos) {
    std::vector<std::string> names;
    for (const auto& info : infos) names.push_back(info.name());
    return names;
  }

  std::vector<ExportNode> nodes_;
};

using Strings = std::vector<std::string>;

TEST_F(OnnxGraphTest, HoldsOpsInTheirOrderWithTheirTensors) {
  const onnx::ModelProto model = Export();
  EXPECT_EQ(model.producer_name(), "graphdbg");
  EXPECT_EQ(model.producer_version(), "1.2.3");
  const onnx::GraphProto& graph = model.graph();
  EXPECT_EQ(graph.name(), "main");
  ASSERT_EQ(graph.node_size(), 3);
  const onnx::NodeProto& addmm = graph.node(0);
  EXPECT_EQ(addmm.name(), "fc/addmm");
  EXPECT_EQ(addmm.domain(), "aten");
  EXPECT_EQ(addmm.op_type(), "addmm");
  EXPECT_EQ(addmm.input(0), "fc/weight:0");
  // Output 1 is known only because relu reads it.
  ASSERT_EQ(addmm.output_size(), 2);
  EXPECT_EQ(addmm.output(1), "fc/addmm:1");
  EXPECT_EQ(addmm.attribute(0).s(), "1");
  EXPECT_EQ(addmm.doc_string(), "train.py:12");
  EXPECT_EQ(graph.node(1).name(), "relu");
  EXPECT_EQ(graph.node(2).domain(), "graphdbg");
  EXPECT_EQ(Names(graph.input()), Strings{"fc/weight:0"});
  EXPECT_EQ(Names(graph.value_info()), Strings{"fc/addmm:1"});
  EXPECT_EQ(Names(graph.output()), (Strings{"fc/addmm:0", "relu:0", "sgd:0"}));
  const auto& type = graph.input(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(type.shape().dim(1).dim_value(), 3);
}

TEST_F(OnnxGraphTest, WhatComesFromTheStepBeforeIsAnInput) {
  Connect("sgd", 0, 2);
  Connect("elsewhere/x", 2, 2);
  Connect("relu", 0, 2, EdgeKind::kControl);
  const onnx::ModelProto model = Export();
  const onnx::NodeProto& addmm = model.graph().node(0);
  ASSERT_EQ(addmm.input_size(), 3);
  EXPECT_EQ(addmm.input(1), "sgd:0@previous");
  EXPECT_EQ(
      Names(model.graph().input()),
      (Strings{"fc/weight:0", "sgd:0@previous", "elsewhere/x:2@previous"}));
}

TEST_F(OnnxGraphTest, TypesThatOnnxLacksAreLeftOpen) {
  nodes_[0].node.outputs[0].type.dtype = DType::kFloat8E4m3fn;
  nodes_[3].node.op_type = "";
  const onnx::ModelProto model = Export();
  EXPECT_EQ(model.graph().input(0).type().tensor_type().elem_type(),
            onnx::TensorProto::UNDEFINED);
  EXPECT_EQ(model.graph().node(2).op_type(), "unknown");
}

// The wire allows all of these names.
TEST_F(OnnxGraphTest, NamesMayBeAnything) {
  const std::string longest(4096, 'x');
  const Strings names = {
      longest,    "\"quoted\"", "line\nbreak",  "卷积/层",
      "a:0",      "a",          "a:0@previous", "../../passwd",
      "<script>", " ",          "%s%n",         std::string("\0", 1)};
  const Strings types = {"",      "::",      "aten::", "::relu",
                         longest, "a::b::c", "<b>",    "op type"};
  nodes_.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    nodes_.push_back(
        Make(names[i], NodeKind::kOp, types[i % types.size()], i + 1));
    nodes_[i].attributes = {{"", longest}, {names[i], names[i]}};
    if (i > 0) Connect(names[i - 1], 0, i);
  }
  const onnx::ModelProto model = Export();
  ASSERT_EQ(model.graph().node_size(), static_cast<int>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(model.graph().node(static_cast<int>(i)).name(), names[i]);
  }
}

TEST_F(OnnxGraphTest, OfNothingIsAModelToo) {
  nodes_.clear();
  EXPECT_EQ(Export().graph().node_size(), 0);
}

}  // namespace
}  // namespace graphdbg::exporters
