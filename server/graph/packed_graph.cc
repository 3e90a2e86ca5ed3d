#include "server/graph/packed_graph.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/node_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/graph/column_file.h"
#include "server/model/enum_names.h"

namespace graphdbg::graph {
namespace {

constexpr uint32_t kNone = kNoNode;

// The names of an enumeration, indexed by the numbers in the file's columns.
template <class Enum>
std::vector<std::string> NamesByNumber() {
  const auto rows = model::EnumNames<Enum>();
  std::vector<std::string> names(rows.size());
  for (const auto& [value, name] : rows) {
    names[static_cast<size_t>(value)] = name;
  }
  return names;
}

std::string_view Label(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

class Packer {
 public:
  Packer(const GraphStore& store, const Graph& graph)
      : store_(store), graph_(graph) {}

  std::vector<NodeIndex> NodeNumbers() && {
    NumberScopes();
    NumberNodes();
    return std::move(node_numbers_);
  }

  std::string Pack() && {
    NumberScopes();
    NumberNodes();
    PackScopes();
    PackNodes();
    PackExecution();
    strings_.AddTo(file_);
    return std::move(file_).Finish(
        {{"graph", graph_.id},
         {"scope_count", scopes_.size()},
         {"node_count", nodes_.size()},
         {"edge_count", edges_.backs.size()},
         {"kinds", NamesByNumber<model::NodeKind>()},
         {"categories", NamesByNumber<model::Category>()}});
  }

 private:
  // Parents are known before their children.
  void NumberScopes() {
    scope_numbers_.assign(store_.scope_count(), kNone);
    for (ScopeIndex s = graph_.root; s < store_.scope_count(); ++s) {
      const ScopeIndex parent = store_.scope(s).parent;
      const bool ours = s == graph_.root || (parent != s && parent < s &&
                                             scope_numbers_[parent] != kNone);
      if (!ours) continue;
      scope_numbers_[s] = static_cast<uint32_t>(scopes_.size());
      scopes_.push_back(s);
    }
  }

  void NumberNodes() {
    node_numbers_.assign(store_.node_count(), kNone);
    nodes_.reserve(graph_.node_count);
    for (NodeIndex n = 0; n < store_.node_count(); ++n) {
      if (scope_numbers_[store_.node(n).scope] == kNone) continue;
      node_numbers_[n] = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(n);
    }
  }

  void PackScopes() {
    std::vector<uint32_t> parents, labels, types;
    for (ScopeIndex s : scopes_) {
      const Scope& scope = store_.scope(s);
      parents.push_back(scope_numbers_[scope.parent]);
      labels.push_back(strings_.Number(Label(scope.name)));
      types.push_back(strings_.Number(scope.type));
    }
    file_.AddDifferences("scope_parent", parents);
    file_.Add("scope_label", labels);
    file_.Add("scope_type", types);
  }

  // One pass, because nodes are far apart in memory.
  void PackNodes() {
    std::vector<uint32_t> scopes, labels, op_types, forwards, outputs, files,
        lines;
    std::vector<uint8_t> kinds, categories, output_counts;
    for (NodeIndex n : nodes_) {
      const Node& node = store_.node(n);
      scopes.push_back(scope_numbers_[node.scope]);
      labels.push_back(strings_.Number(Label(node.name)));
      kinds.push_back(static_cast<uint8_t>(node.kind));
      categories.push_back(static_cast<uint8_t>(node.category));
      op_types.push_back(strings_.Number(node.op_type));
      forwards.push_back(node.forward == kNoNode ? kNone
                                                 : node_numbers_[node.forward]);
      PackEdgesOf(node, node_numbers_[n]);
      outputs.push_back(OutputOf(node));
      output_counts.push_back(
          static_cast<uint8_t>(std::min<size_t>(node.outputs.size(), 255)));
      const model::SourceLine* source = store_.SourceOf(n);
      files.push_back(source ? strings_.Number(source->file) : 0);
      lines.push_back(source ? source->line : 0);
      if (node.order != 0) {
        execution_.emplace_back(node.order, node_numbers_[n]);
      }
    }
    file_.AddDifferences("node_scope", scopes);
    file_.AddDifferences("node_label", labels);
    file_.Add("node_kind", kinds);
    file_.Add("node_category", categories);
    file_.Add("node_op_type", op_types);
    file_.Add("node_forward", forwards);
    file_.Add("node_output", outputs);
    file_.Add("node_output_count", output_counts);
    file_.Add("node_file", files);
    file_.AddDifferences("node_line", lines);
    file_.AddDifferences("edge_end", edges_.ends);
    file_.Add("edge_back", edges_.backs);
    file_.Add("edge_slot", edges_.slots);
    file_.Add("edge_control", edges_.controls);
  }

  // Returns the number of the first output's type, as "float32[2, 3]".
  uint32_t OutputOf(const Node& node) {
    if (node.outputs.empty()) return 0;
    const model::TensorType& type = node.outputs.front().type;
    const auto [text, is_new] = texts_.insert(absl::StrCat(
        model::DTypeName(type), "[", absl::StrJoin(type.shape, ", "), "]"));
    return strings_.Number(*text);
  }

  // Edges store the distance to the producer, which is small and repetitive.
  void PackEdgesOf(const Node& node, uint32_t to) {
    for (const Input& input : node.inputs) {
      if (input.node == kNoNode || node_numbers_[input.node] == kNone) {
        continue;
      }
      edges_.backs.push_back(to - node_numbers_[input.node]);
      edges_.slots.push_back(input.slot);
      edges_.controls.push_back(input.control ? 1 : 0);
    }
    edges_.ends.push_back(static_cast<uint32_t>(edges_.backs.size()));
  }

  void PackExecution() {
    std::sort(execution_.begin(), execution_.end());
    std::vector<uint32_t> numbers;
    for (const auto& [order, number] : execution_) numbers.push_back(number);
    file_.AddDifferences("execution", numbers);
  }

  const GraphStore& store_;
  const Graph& graph_;
  // Indices of the graph's scopes and nodes, by number in the file.
  std::vector<ScopeIndex> scopes_;
  std::vector<NodeIndex> nodes_;
  // Numbers by index. kNone: belongs to another graph.
  std::vector<uint32_t> scope_numbers_;
  std::vector<uint32_t> node_numbers_;
  struct Edges {
    std::vector<uint32_t> ends, backs, slots;
    std::vector<uint8_t> controls;
  };
  Edges edges_;
  // Orders and numbers of the nodes that execute.
  std::vector<std::pair<uint64_t, uint32_t>> execution_;
  // Owns the strings that `strings_` refers to and no node contains.
  absl::node_hash_set<std::string> texts_;
  StringTable strings_;
  ColumnFile file_;
};

}  // namespace

std::string PackGraph(const GraphStore& store, const Graph& graph) {
  return Packer(store, graph).Pack();
}

std::vector<NodeIndex> NumbersInFile(const GraphStore& store,
                                     const Graph& graph) {
  return Packer(store, graph).NodeNumbers();
}

std::string PackEmptyGraph() {
  GraphStore store;
  AgentIds ids;
  store.Apply(GraphPatch{}, ids).IgnoreError();
  return PackGraph(store, *store.FindGraph(""));
}

}  // namespace graphdbg::graph
