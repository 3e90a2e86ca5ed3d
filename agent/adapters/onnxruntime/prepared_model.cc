#include "agent/adapters/onnxruntime/prepared_model.h"

#include <set>

#include "agent/adapters/onnxruntime/inline_functions.h"
#include "agent/adapters/onnxruntime/order.h"
#include "agent/adapters/onnxruntime/tensor_bytes.h"

namespace graphdbg::onnxruntime {
namespace {

// As ONNX Runtime does: what a Constant node makes is an initializer.
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
  absl::Status status = InlineFunctions(&prepared.proto);
  if (!status.ok()) return status;
  LiftConstants(&prepared);
  status = SortNodes(prepared.proto.mutable_graph());
  if (!status.ok()) return status;
  return prepared;
}

DeclaredParts Declare(const PreparedModel& model, Declarations* declarations) {
  DeclaredParts parts;
  const onnx::GraphProto& graph = model.proto.graph();
  declarations->NameNodes(graph);
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initialized.insert(tensor.name());
    const auto constant = model.constants.find(tensor.name());
    parts.initializers.push_back(
        constant == model.constants.end()
            ? declarations->AddInitializer(tensor)
            : declarations->AddConstant(constant->second, tensor));
  }
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (initialized.count(input.name()) > 0) continue;
    parts.inputs.emplace_back(input.name(), declarations->AddInput(input));
  }
  for (const onnx::NodeProto& node : graph.node()) {
    parts.nodes.push_back(declarations->AddNode(node));
  }
  return parts;
}

}  // namespace graphdbg::onnxruntime
