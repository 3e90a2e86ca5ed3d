#include "agent/onnx_splitter/bodies.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace graphdbg::onnx_splitter {
namespace {

// Earlier versions of Scan have a batch dimension.
constexpr int64_t kScanOpset = 9;

bool IsOfOnnx(const onnx::NodeProto& node, const char* op_type) {
  return node.op_type() == op_type &&
         (node.domain().empty() || node.domain() == "ai.onnx");
}

// ONNX Runtime cannot pass an absent value from one session to another.
bool HasOptional(const onnx::GraphProto& graph) {
  for (const auto* values : {&graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (value.type().has_optional_type()) return true;
    }
  }
  return false;
}

}  // namespace

std::string ReasonNotCaptured(const onnx::NodeProto& node, int64_t opset) {
  const bool is_if = IsOfOnnx(node, "If");
  const bool is_scan = IsOfOnnx(node, "Scan");
  const bool known = is_if || is_scan || IsOfOnnx(node, "Loop");
  std::string kind = is_if ? "an If" : absl::StrCat("a ", node.op_type());
  bool followed = known;
  if (is_scan && opset < kScanOpset) {
    absl::StrAppend(&kind, " of opset ", opset);
    followed = false;
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!known || !attribute.has_g() || !HasOptional(attribute.g())) continue;
    absl::StrAppend(&kind, " with optional values");
    followed = false;
    break;
  }
  if (followed) return "";
  return absl::StrCat("inside the body of ", kind,
                      ", which ONNX Runtime runs as one node");
}

std::vector<const onnx::ValueInfoProto*> InputsOf(
    const onnx::GraphProto& graph) {
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initialized.insert(tensor.name());
  }
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (initialized.count(input.name()) == 0) inputs.push_back(&input);
  }
  return inputs;
}

std::string OuterInputOf(const onnx::NodeProto& node, size_t index) {
  const bool counts = IsOfOnnx(node, "Loop") && index == 0;
  if (counts || index >= static_cast<size_t>(node.input_size())) return "";
  return node.input(static_cast<int>(index));
}

}  // namespace graphdbg::onnx_splitter
