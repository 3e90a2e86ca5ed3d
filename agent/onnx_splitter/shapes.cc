#include "agent/onnx_splitter/shapes.h"

#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/onnx_splitter/model_file.h"

namespace graphdbg::onnx_splitter {
namespace {

constexpr size_t kMaxLineBytes = 500;

// The newest version of ONNX's own op set that this library supports.
int64_t NewestOpset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
      .Map()
      .at("")
      .second;
}

// The checker requires a value in each initializer. External data has already
// been validated.
void AddPlaceholderValues(onnx::ModelProto* model) {
  const absl::Status done =
      VisitTensors(model, [](const std::string&, onnx::TensorProto* tensor) {
        if (!IsExternal(*tensor)) return absl::OkStatus();
        tensor->clear_data_location();
        tensor->clear_external_data();
        tensor->set_raw_data(std::string(1, '\0'));
        return absl::OkStatus();
      });
  (void)done;
}

void Check(const onnx::ModelProto& model, std::vector<std::string>* findings) {
  onnx::ModelProto copy = model;
  AddPlaceholderValues(&copy);
  copy.set_ir_version(std::min<int64_t>(copy.ir_version(), 8));
  try {
    onnx::checker::check_model(copy);
  } catch (const std::exception& error) {
    findings->push_back(
        OneLine(absl::StrCat("the ONNX checker reports: ", error.what())));
  }
}

TensorType TypeOf(const onnx::TypeProto::Tensor& tensor) {
  TensorType type;
  type.element = tensor.elem_type();
  type.has_shape = tensor.has_shape();
  for (const auto& size : tensor.shape().dim()) {
    type.shape.push_back(size.has_dim_value() ? absl::StrCat(size.dim_value())
                         : size.dim_param().empty() ? "?"
                                                    : size.dim_param());
  }
  return type;
}

void Collect(const onnx::GraphProto& graph,
             std::unordered_map<std::string, TensorType>* types) {
  for (const auto* values :
       {&graph.input(), &graph.value_info(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (!value.type().has_tensor_type()) continue;
      const TensorType type = TypeOf(value.type().tensor_type());
      const auto [known, added] = types->emplace(value.name(), type);
      // Two branches may define values of the same name.
      if (!added && known->second.shape != type.shape) {
        known->second.has_shape = false;
      }
    }
  }
  for (const onnx::NodeProto& node : graph.node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) Collect(attribute.g(), types);
    }
  }
}

bool AllShapesKnown(const onnx::ModelProto& model, const Shapes& shapes) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const std::string& output : node.output()) {
      const auto type = shapes.types.find(output);
      if (!output.empty() &&
          (type == shapes.types.end() || !type->second.has_shape)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int64_t OpsetOf(const onnx::ModelProto& model) {
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") {
      return opset.version();
    }
  }
  return 0;
}

std::string OneLine(std::string text) {
  text = absl::StrReplaceAll(text, {{"\r", " "}, {"\n", " "}, {"\t", " "}});
  absl::RemoveExtraAsciiWhitespace(&text);
  if (text.size() > kMaxLineBytes) text.resize(kMaxLineBytes);
  return text;
}

Shapes InferShapes(onnx::ModelProto* model) {
  Shapes shapes;
  const int64_t opset = OpsetOf(*model);
  const bool known = opset <= NewestOpset();
  if (known) Check(*model, &shapes.findings);
  try {
    onnx::shape_inference::InferShapes(*model);
  } catch (const std::exception& error) {
    shapes.findings.push_back(
        OneLine(absl::StrCat("shape inference failed, shapes will be known "
                             "after the first run: ",
                             error.what())));
  }
  Collect(model->graph(), &shapes.types);
  if (!known && !AllShapesKnown(*model, shapes)) {
    shapes.findings.push_back(absl::StrCat(
        "opset ", opset, " is newer than the installed ONNX library supports (",
        NewestOpset(),
        "); shapes that it cannot infer will be known after the first run"));
  }
  return shapes;
}

}  // namespace graphdbg::onnx_splitter
