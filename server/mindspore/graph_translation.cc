#include "server/mindspore/graph_translation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/wire/utf8.h"
#include "server/mindspore/categories.h"
#include "server/mindspore/source_lines.h"
#include "server/mindspore/types.h"

namespace graphdbg::mindspore {
namespace {

constexpr int kMaxInputs = 10'000;
constexpr int kMaxAttributes = 1'000;
constexpr size_t kMaxWordBytes = 1'000;
constexpr char kPick[] = "tuple_getitem";
constexpr char kTopScope[] = "Default";
constexpr char kInput[] = "args";

std::string Word(const std::string& bytes) {
  return wire::ToValidUtf8(bytes, kMaxWordBytes);
}

std::string ScopeOf(const std::string& full_name) {
  const size_t slash = full_name.rfind('/');
  return slash == std::string::npos ? kTopScope : full_name.substr(0, slash);
}

std::string FullNameOf(const debugger::NodeProto& node) {
  if (!node.full_name().empty()) return node.full_name();
  return absl::StrCat(node.scope().empty() ? kTopScope : node.scope(), "/",
                      node.op_type(), "-", node.name());
}

// Inputs, which the training loop passes to the network, are named "args0",
// "args1" and so on.
bool IsInput(const std::string& name) {
  int number = 0;
  return absl::StartsWith(name, kInput) &&
         absl::SimpleAtoi(name.substr(sizeof(kInput) - 1), &number);
}

class Translator {
 public:
  Translator(const debugger::GraphProto& graph, NodeTable& table)
      : graph_(graph), nodes_(table) {
    patch_.graph = table.GraphId(graph.name());
  }

  graph::GraphPatch Run() {
    FindScopes();
    // Names come first, because inputs may refer to any node.
    for (const auto& parameter : graph_.parameters()) Add(parameter);
    for (const auto& constant : graph_.const_vals()) Add(constant);
    for (const auto& node : graph_.node()) Name(node);
    uint64_t order = 0;
    for (const auto& node : graph_.node()) {
      if (!node.name().empty()) Add(node, ++order);
    }
    for (auto& [node, record] : records_) {
      record.outputs = node->outputs;
      patch_.nodes.push_back(std::move(record));
    }
    return std::move(patch_);
  }

 private:
  // Finds the first consumers of parameters and constants.
  void FindScopes() {
    for (const auto& node : graph_.node()) {
      const std::string scope = ScopeOf(FullNameOf(node));
      for (const auto& input : node.input()) {
        scopes_.try_emplace(input.name(), scope);
      }
    }
  }

  std::string Scoped(const std::string& key, const std::string& name) const {
    auto it = scopes_.find(key);
    // MindSpore replaces slashes within names in the same way.
    return absl::StrCat(it == scopes_.end() ? kTopScope : it->second, "/",
                        absl::StrReplaceAll(name, {{"/", "--"}}));
  }

  graph::NodeRecord& Record(NodeEntry& node) {
    graph::NodeRecord record;
    record.id = node.id;
    record.name = node.name;
    record.kind = node.kind;
    record.category = node.category;
    record.op_type = node.op_type;
    record.order = node.order;
    return records_.emplace_back(&node, std::move(record)).second;
  }

  void Add(const debugger::ParameterProto& parameter) {
    const std::string name = Scoped(parameter.name(), parameter.name());
    // The name needs a scope: on GPUs, clients would not find it without.
    NodeEntry& node = nodes_.Ensure(graph_.name(), name, name);
    node.kind = IsInput(parameter.name()) ? model::NodeKind::kInput
                                          : model::NodeKind::kParameter;
    node.category = CategoryOfParameter(node.name);
    node.op_type = "Parameter";
    node.outputs = OutputsOf(parameter.type());
    named_[parameter.name()] = &node;
    Record(node);
  }

  void Add(const debugger::NamedValueProto& constant) {
    const std::string& name =
        constant.full_name().empty() ? constant.key() : constant.full_name();
    const std::string scoped = Scoped(constant.key(), name);
    NodeEntry& node = nodes_.Ensure(graph_.name(), scoped, scoped);
    node.kind = model::NodeKind::kConstant;
    node.op_type = "Constant";
    node.value = ValueOf(constant.value());
    node.outputs.clear();
    // Release 1.6 and later send tensors without a value or even a type.
    const bool is_tensor = !constant.has_value() ||
                           constant.value().dtype() == debugger::DT_TENSOR;
    if (node.value) {
      node.outputs.push_back({0, node.value->type});
    } else if (is_tensor) {
      node.outputs.push_back({0, {}});
    }
    named_[constant.key()] = &node;
    constants_[constant.key()] = &constant.value();
    const std::string text = TextOf(constant.value());
    graph::NodeRecord& record = Record(node);
    if (!text.empty()) record.attributes["value"] = text;
  }

  void Name(const debugger::NodeProto& node) {
    // Calls of other graphs appear as empty nodes.
    if (node.name().empty()) return;
    const std::string name = FullNameOf(node);
    named_[node.name()] = &nodes_.Ensure(graph_.name(), name, name);
  }

  void Add(const debugger::NodeProto& from, uint64_t order) {
    NodeEntry& node = *named_.at(from.name());
    node.op_type = Word(from.op_type());
    node.category = CategoryOfOp(node.name, node.op_type);
    node.outputs = OutputsOf(from.output_type());
    node.order = order;
    if (from.op_type() == kPick) MakeAlias(from, node);
    graph::NodeRecord& record = Record(node);
    AddInputs(from, node, record);
    for (const auto& attribute : from.attribute()) {
      if (record.attributes.size() >= kMaxAttributes) break;
      record.attributes[Word(attribute.name())] = TextOf(attribute.value());
    }
    record.stack = SourceLinesOf(from.source_address());
    const model::SourceLine* line = UserLine(record.stack);
    node.source.reset();
    if (line != nullptr) node.source = *line;
  }

  void MakeAlias(const debugger::NodeProto& from, NodeEntry& node) {
    if (from.input_size() < 2) return;
    auto producer = named_.find(from.input(0).name());
    auto index = constants_.find(from.input(1).name());
    if (producer == named_.end() || index == constants_.end()) return;
    const int64_t slot = index->second->has_uint_val()
                             ? static_cast<int64_t>(index->second->uint_val())
                             : index->second->int_val();
    if (slot < 0 || slot >= kMaxInputs || producer->second == &node) return;
    node.alias_of = producer->second->id;
    node.alias_slot = static_cast<uint32_t>(slot);
    // Element types of tuples have no shape, but this node's type has one.
    for (model::Output& output : producer->second->outputs) {
      if (output.slot == slot && output.type.dtype == DType::kUnspecified &&
          !node.outputs.empty()) {
        output.type = node.outputs.front().type;
      }
    }
  }

  void AddInputs(const debugger::NodeProto& from, const NodeEntry& node,
                 graph::NodeRecord& record) {
    for (const auto& input : from.input()) {
      if (record.inputs.size() >= kMaxInputs) break;
      auto producer = named_.find(input.name());
      if (producer == named_.end()) continue;
      graph::InputRecord to;
      to.node_id = producer->second->id;
      to.control = input.type() == debugger::InputProto::CONTROL_EDGE;
      if (to.node_id == node.alias_of) to.slot = node.alias_slot;
      record.inputs.push_back(to);
    }
  }

  const debugger::GraphProto& graph_;
  NodeTable& nodes_;
  graph::GraphPatch patch_;
  // Outputs are copied last, since later nodes may add shapes to earlier ones.
  std::vector<std::pair<NodeEntry*, graph::NodeRecord>> records_;
  // Keyed by the names that the graph uses for references.
  absl::flat_hash_map<std::string, std::string> scopes_;
  absl::flat_hash_map<std::string, NodeEntry*> named_;
  absl::flat_hash_map<std::string, const debugger::ValueProto*> constants_;
};

}  // namespace

graph::GraphPatch TranslateGraph(const debugger::GraphProto& graph,
                                 NodeTable& table) {
  return Translator(graph, table).Run();
}

}  // namespace graphdbg::mindspore
