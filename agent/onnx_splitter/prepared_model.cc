#include "agent/onnx_splitter/prepared_model.h"

#include "agent/onnx_splitter/bodies.h"
#include "agent/onnx_splitter/inline_functions.h"
#include "agent/onnx_splitter/order.h"
#include "agent/onnx_splitter/shapes.h"
#include "agent/onnx_splitter/tensor_bytes.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::onnx_splitter {
namespace {

// Turns Constant nodes into initializers, as ONNX Runtime does.
void LiftConstants(PreparedModel* model) {
  onnx::GraphProto& graph = *model->proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> others;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    onnx::TensorProto tensor;
    if (TensorOfConstant(node, &tensor)) {
      model->constants[tensor.name()] = node;
      *graph.add_initializer() = std::move(tensor);
    } else {
      *others.Add() = std::move(node);
    }
  }
  graph.mutable_node()->Swap(&others);
}

}  // namespace

absl::StatusOr<PreparedModel> Prepare(onnx::ModelProto model) {
  PreparedModel prepared;
  prepared.proto = std::move(model);
  RETURN_IF_ERROR(InlineFunctions(&prepared.proto));
  LiftConstants(&prepared);
  RETURN_IF_ERROR(SortNodes(prepared.proto.mutable_graph()));
  return prepared;
}

void Declare(const PreparedModel& model, Declarations* declarations) {
  const onnx::GraphProto& graph = model.proto.graph();
  declarations->set_opset(OpsetOf(model.proto));
  declarations->NameNodes(graph);
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    const auto constant = model.constants.find(tensor.name());
    if (constant == model.constants.end()) {
      declarations->AddInitializer(tensor);
    } else {
      declarations->AddConstant(constant->second, tensor);
    }
  }
  for (const onnx::ValueInfoProto* input : InputsOf(graph)) {
    declarations->AddInput(*input);
  }
  for (const onnx::NodeProto& node : graph.node()) declarations->AddNode(node);
}

}  // namespace graphdbg::onnx_splitter
