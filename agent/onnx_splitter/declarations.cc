#include "agent/onnx_splitter/declarations.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/onnx_splitter/attributes.h"
#include "agent/onnx_splitter/bodies.h"
#include "agent/onnx_splitter/order.h"

namespace graphdbg::onnx_splitter {
namespace {

using Json = Declarations::Json;

constexpr int kMaxDepth = 32;
// An attribute name that the server interprets.
constexpr char kNotCaptured[] = "not captured";

// Guesses whether training updates the tensor. Integers are shapes, axes and
// the like.
bool IsWeight(const onnx::TensorProto& tensor) {
  using Proto = onnx::TensorProto;
  switch (tensor.data_type()) {
    case Proto::BOOL:
    case Proto::INT16:
    case Proto::INT32:
    case Proto::INT64:
    case Proto::UINT16:
    case Proto::UINT32:
    case Proto::UINT64:
    case Proto::STRING:
      return false;
    default:
      return true;
  }
}

// Converts a Python traceback, which PyTorch's exporter stores in each node
// with the outermost frame first, to frames with the innermost first.
Json StackOf(const std::string& trace) {
  Json stack = Json::array();
  for (absl::string_view line : absl::StrSplit(trace, '\n')) {
    // File "a.py", line 7, in forward
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '"');
    if (parts.size() < 3 || !absl::StrContains(parts[0], "File ")) continue;
    const std::vector<absl::string_view> rest = absl::StrSplit(parts[2], ' ');
    uint32_t number = 0;
    if (rest.size() < 5 || rest[1] != "line" ||
        !absl::SimpleAtoi(rest[2].substr(0, rest[2].find(',')), &number)) {
      continue;
    }
    const bool library = absl::StrContains(parts[1], "/site-packages/") ||
                         absl::StrContains(parts[1], "/dist-packages/");
    stack.insert(stack.begin(),
                 Json::array({std::string(parts[1]), number,
                              std::string(rest.back()), !library}));
  }
  return stack;
}

std::string CommonScope(const std::string& a, const std::string& b) {
  size_t border = 0;
  for (size_t i = 0; i <= a.size() && i <= b.size(); ++i) {
    const bool ends_a = i == a.size() || a[i] == '/';
    const bool ends_b = i == b.size() || b[i] == '/';
    if (ends_a && ends_b) border = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, border);
}

}  // namespace

size_t Declarations::Add(const void* part, std::string name, const char* kind,
                         const char* category, std::string op_type) {
  numbers_[part] = nodes_.size();
  nodes_.push_back({{"name", std::move(name)},
                    {"kind", kind},
                    {"category", category},
                    {"op_type", std::move(op_type)},
                    {"inputs", Json::array()},
                    {"outputs", Json::array()},
                    {"attributes", Json::object()},
                    {"stack", Json::array()}});
  return nodes_.size() - 1;
}

void Declarations::AddTensor(size_t node, const onnx::TensorProto& tensor) {
  Json shape = Json::array();
  for (int64_t size : tensor.dims()) shape.push_back(absl::StrCat(size));
  nodes_[node]["outputs"].push_back(Json::array({tensor.data_type(), shape}));
  producers_[tensor.name()] = {node, 0};
}

void Declarations::NameNodes(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string name = names_.NodeName(node, "");
    node_names_[&node] = name;
    const std::string scope = name.substr(0, name.rfind('/'));
    for (const std::string& value : ReadsOf(node)) {
      const auto [known, added] = scopes_of_values_.emplace(value, scope);
      if (!added) known->second = CommonScope(known->second, scope);
    }
  }
}

std::string Declarations::ScopeOf(const std::string& value) const {
  const auto scope = scopes_of_values_.find(value);
  return scope == scopes_of_values_.end() ? "" : scope->second;
}

size_t Declarations::AddInitializer(const onnx::TensorProto& tensor) {
  const bool weight = IsWeight(tensor);
  const std::string scope =
      HasScope(tensor.name()) ? "" : ScopeOf(tensor.name());
  const size_t node =
      Add(&tensor, names_.InitializerName(tensor.name(), scope),
          weight ? "parameter" : "constant", weight ? "weight" : "other", "");
  AddTensor(node, tensor);
  return node;
}

size_t Declarations::AddConstant(const onnx::NodeProto& node,
                                 const onnx::TensorProto& tensor) {
  const size_t constant =
      Add(&tensor,
          names_.NodeName(node, HasScope(node) ? "" : ScopeOf(tensor.name())),
          "constant", "other", "Constant");
  AddTensor(constant, tensor);
  return constant;
}

size_t Declarations::AddInput(const onnx::ValueInfoProto& input) {
  return AddInput(input, "");
}

size_t Declarations::AddInput(const onnx::ValueInfoProto& input,
                              const std::string& scope) {
  const size_t node =
      Add(&input, names_.InputName(input.name(), scope), "input", "other", "");
  onnx::NodeProto maker;
  maker.add_output(input.name());
  AddTypes(maker, &nodes_[node]);
  producers_[input.name()] = {node, 0};
  return node;
}

size_t Declarations::AddNode(const onnx::NodeProto& node,
                             const std::string& name, int depth) {
  AddScopeTypes(node, name);
  std::vector<Endpoint> inner;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g() || depth > kMaxDepth) continue;
    const std::string inside = absl::StrCat(name, ".", attribute.name());
    scopes_[inside] = absl::StrCat(node.op_type(), " ", attribute.name());
    const size_t first = nodes_.size();
    const auto made = AddGraph(attribute.g(), node, inside, depth + 1);
    const std::string why = ReasonNotCaptured(node, opset_);
    if (!why.empty()) MarkNotCaptured(first, why);
    inner.insert(inner.end(), made.begin(), made.end());
  }
  const std::string type =
      node.domain().empty() || node.domain() == "ai.onnx"
          ? node.op_type()
          : absl::StrCat(node.domain(), "::", node.op_type());
  const size_t number = Add(&node, name, "op", "activation", type);
  Json& item = nodes_[number];
  for (const std::string& input : node.input()) {
    const auto maker = producers_.find(input);
    if (maker != producers_.end()) item["inputs"].push_back(maker->second);
  }
  for (const Endpoint& endpoint : inner) item["inputs"].push_back(endpoint);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    item["attributes"][attribute.name()] = TextOf(attribute);
  }
  AddTypes(node, &item);
  item["stack"] = StackOf(MetadataOf(node)["pkg.torch.onnx.stack_trace"]);
  for (int slot = 0; slot < node.output_size(); ++slot) {
    producers_[node.output(slot)] = {number, static_cast<size_t>(slot)};
  }
  return number;
}

// emplace() keeps the reason of the innermost subgraph.
void Declarations::MarkNotCaptured(size_t first, const std::string& why) {
  for (size_t i = first; i < nodes_.size(); ++i) {
    nodes_[i]["attributes"].emplace(kNotCaptured, why);
  }
}

std::vector<Declarations::Endpoint> Declarations::AddGraph(
    const onnx::GraphProto& graph, const onnx::NodeProto& node,
    const std::string& scope, int depth) {
  const auto inputs = InputsOf(graph);
  // All outer values are resolved first: the subgraph's inputs may shadow them.
  std::vector<std::vector<Endpoint>> given(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto maker = producers_.find(OuterInputOf(node, i));
    if (maker != producers_.end()) given[i].push_back(maker->second);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t input = AddInput(*inputs[i], scope);
    nodes_[input]["inputs"] = given[i];
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    AddTensor(Add(&tensor, names_.InitializerName(tensor.name(), scope),
                  "constant", "other", ""),
              tensor);
  }
  for (const onnx::NodeProto& inner : graph.node()) {
    AddNode(inner, names_.NodeName(inner, scope), depth);
  }
  std::vector<Endpoint> made;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const auto maker = producers_.find(output.name());
    if (maker != producers_.end()) made.push_back(maker->second);
  }
  return made;
}

// Shapes are lists of strings because symbolic sizes are names.
void Declarations::AddTypes(const onnx::NodeProto& node, Json* item) const {
  for (const std::string& output : node.output()) {
    const auto type = types_->find(output);
    if (type == types_->end() || !type->second.has_shape) {
      (*item)["outputs"].push_back(nullptr);
    } else {
      (*item)["outputs"].push_back(
          Json::array({type->second.element, type->second.shape}));
    }
  }
}

// PyTorch's exporter writes a list of scopes, ['', 'layer1', 'layer1.0',
// 'conv2d'], and a list of their classes.
void Declarations::AddScopeTypes(const onnx::NodeProto& node,
                                 const std::string& name) {
  auto metadata = MetadataOf(node);
  const auto scopes = ParseList(metadata["pkg.torch.onnx.name_scopes"]);
  const auto classes = ParseList(metadata["pkg.torch.onnx.class_hierarchy"]);
  if (scopes.size() != classes.size() || scopes.size() < 2) return;
  const std::string model = name.substr(0, name.find('/'));
  for (size_t i = 0; i + 1 < scopes.size(); ++i) {
    const std::string path =
        absl::StrJoin(absl::StrSplit(scopes[i], '.', absl::SkipEmpty()), "/");
    const std::string type = classes[i].substr(classes[i].rfind('.') + 1);
    scopes_[path.empty() ? model : absl::StrCat(model, "/", path)] = type;
  }
}

}  // namespace graphdbg::onnx_splitter
