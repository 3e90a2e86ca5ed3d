#include "agent/onnx_splitter/inline_functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::onnx_splitter {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Key = std::pair<std::string, std::string>;

constexpr int kMaxNodes = 1000000;
constexpr int kMaxDepth = 32;
// Fields of FunctionProto that libonnx 1.12 does not know.
constexpr int kDefaultsField = 11;
constexpr int kOverloadField = 13;

Key KeyOf(const std::string& domain, const std::string& name) {
  return {domain == "ai.onnx" ? "" : domain, name};
}

// Default values of a function's attributes.
std::map<std::string, onnx::AttributeProto> DefaultsOf(
    const onnx::FunctionProto& function, bool* overloaded) {
  std::map<std::string, onnx::AttributeProto> defaults;
  const auto& unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    if (field.number() == kOverloadField && !field.length_delimited().empty()) {
      *overloaded = true;
    }
    onnx::AttributeProto attribute;
    if (field.number() == kDefaultsField &&
        attribute.ParseFromString(field.length_delimited())) {
      defaults[attribute.name()] = attribute;
    }
  }
  return defaults;
}

// One call: maps the function's names to those of the caller.
class Call {
 public:
  Call(const std::string& name, const onnx::NodeProto& node,
       const onnx::FunctionProto& function,
       std::map<std::string, onnx::AttributeProto> attributes)
      : prefix_(name + "/"), attributes_(std::move(attributes)) {
    for (const onnx::AttributeProto& given : node.attribute()) {
      attributes_[given.name()] = given;
    }
    for (int i = 0; i < function.input_size(); ++i) {
      values_[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      if (i < node.output_size() && !node.output(i).empty()) {
        values_[function.output(i)] = node.output(i);
      }
    }
  }

  void Rename(onnx::NodeProto* node, int depth) const {
    node->set_name(absl::StrCat(
        prefix_, node->name().empty() ? node->op_type() : node->name()));
    for (std::string& name : *node->mutable_input()) name = ValueOf(name);
    for (std::string& name : *node->mutable_output()) name = ValueOf(name);
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
      if (!Resolve(&attribute)) continue;
      if (attribute.has_g()) RenameGraph(attribute.mutable_g(), depth + 1);
      *attributes.Add() = std::move(attribute);
    }
    node->mutable_attribute()->Swap(&attributes);
  }

 private:
  std::string ValueOf(const std::string& name) const {
    if (name.empty()) return name;
    const auto value = values_.find(name);
    return value != values_.end() ? value->second : absl::StrCat(prefix_, name);
  }

  // Replaces a reference to a function attribute by its value; returns false if
  // the call has no such attribute.
  bool Resolve(onnx::AttributeProto* attribute) const {
    if (attribute->ref_attr_name().empty()) return true;
    const auto given = attributes_.find(attribute->ref_attr_name());
    if (given == attributes_.end()) return false;
    const std::string name = attribute->name();
    *attribute = given->second;
    attribute->set_name(name);
    return true;
  }

  void RenameGraph(onnx::GraphProto* graph, int depth) const {
    if (depth > kMaxDepth) return;
    for (auto* values : {graph->mutable_input(), graph->mutable_output(),
                         graph->mutable_value_info()}) {
      for (onnx::ValueInfoProto& value : *values) {
        value.set_name(ValueOf(value.name()));
      }
    }
    for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
      tensor.set_name(ValueOf(tensor.name()));
    }
    for (onnx::NodeProto& node : *graph->mutable_node()) Rename(&node, depth);
  }

  const std::string prefix_;
  std::map<std::string, onnx::AttributeProto> attributes_;
  std::map<std::string, std::string> values_;
};

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto* model) : model_(*model) {
    std::map<std::string, int64_t> versions;
    for (const auto& opset : model_.opset_import()) {
      versions[KeyOf(opset.domain(), "").first] = opset.version();
    }
    for (const onnx::FunctionProto& function : model_.functions()) {
      if (CanInline(function, &versions)) {
        functions_[KeyOf(function.domain(), function.name())] = &function;
      }
    }
  }

  absl::Status Run() {
    if (functions_.empty()) return absl::OkStatus();
    return InlineInto(model_.mutable_graph(), 0);
  }

 private:
  absl::Status InlineInto(onnx::GraphProto* graph, int depth) {
    Nodes all;
    for (const onnx::NodeProto& node : graph->node()) {
      RETURN_IF_ERROR(Add(node, depth, &all));
    }
    graph->mutable_node()->Swap(&all);
    return absl::OkStatus();
  }

  // Adds the node and inlines calls in its subgraphs.
  absl::Status AddNode(const onnx::NodeProto& node, int depth, Nodes* all) {
    onnx::NodeProto* const added = all->Add();
    *added = node;
    ++nodes_;
    for (onnx::AttributeProto& attribute : *added->mutable_attribute()) {
      if (!attribute.has_g()) continue;
      RETURN_IF_ERROR(InlineInto(attribute.mutable_g(), depth + 1));
    }
    return absl::OkStatus();
  }

  // Whether calls of the function can be inlined. Adds op sets that only the
  // function imports to the model.
  bool CanInline(const onnx::FunctionProto& function,
                 std::map<std::string, int64_t>* versions) {
    bool overloaded = false;
    DefaultsOf(function, &overloaded);
    if (overloaded) return false;
    for (const auto& opset : function.opset_import()) {
      const std::string domain = KeyOf(opset.domain(), "").first;
      const auto [known, added] = versions->emplace(domain, opset.version());
      if (added) *model_.add_opset_import() = opset;
      if (known->second != opset.version()) return false;
    }
    return true;
  }

  absl::Status Add(const onnx::NodeProto& node, int depth, Nodes* all) {
    const auto found = functions_.find(KeyOf(node.domain(), node.op_type()));
    if (found == functions_.end()) return AddNode(node, depth, all);
    if (depth > kMaxDepth || nodes_ > kMaxNodes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("node ", node.name(), " calls the function ",
                       node.op_type(), ", which expands to more than ",
                       kMaxDepth, " nested calls or ", kMaxNodes, " nodes"));
    }
    bool overloaded = false;
    const onnx::FunctionProto& function = *found->second;
    const Call call(NameOf(node), node, function,
                    DefaultsOf(function, &overloaded));
    for (onnx::NodeProto inner : function.node()) {
      call.Rename(&inner, 0);
      RETURN_IF_ERROR(Add(inner, depth + 1, all));
    }
    return absl::OkStatus();
  }

  // Names of calls are made unique: the second "f" becomes "f_1".
  std::string NameOf(const onnx::NodeProto& node) {
    const std::string name = node.name().empty() ? node.op_type() : node.name();
    const int before = calls_[name]++;
    return before == 0 ? name : absl::StrCat(name, "_", before);
  }

  onnx::ModelProto& model_;
  int nodes_ = 0;
  std::map<std::string, int> calls_;
  std::map<Key, const onnx::FunctionProto*> functions_;
};

}  // namespace

absl::Status InlineFunctions(onnx::ModelProto* model) {
  return Inliner(model).Run();
}

}  // namespace graphdbg::onnx_splitter
