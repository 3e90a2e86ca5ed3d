#include "server/graph/packed_graph.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "server/graph/column_file.h"

namespace graphdbg::graph {
namespace {

constexpr uint32_t kNone = kNoNode;

// The words of the API, in the order of the enumerations.
const nlohmann::ordered_json& Kinds() {
  static const auto* const kWords = new nlohmann::ordered_json(
      {"scope", "op", "parameter", "buffer", "constant", "input", "aggregate"});
  return *kWords;
}

const nlohmann::ordered_json& Categories() {
  static const auto* const kWords = new nlohmann::ordered_json(
      {"other", "weight", "gradient", "activation", "optimizer"});
  return *kWords;
}

std::string_view Label(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

class Packer {
 public:
  Packer(const GraphStore& store, const Graph& graph)
      : store_(store), graph_(graph) {}

  std::string Pack() && {
    NumberScopes();
    NumberNodes();
    PackScopes();
    PackNodes();
    PackEdges();
    PackExecution();
    strings_.AddTo(file_);
    return std::move(file_).Finish({{"graph", graph_.id},
                                    {"scope_count", scopes_.size()},
                                    {"node_count", nodes_.size()},
                                    {"edge_count", edge_count_},
                                    {"kinds", Kinds()},
                                    {"categories", Categories()}});
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

  template <class T, class Indices, class Get>
  void Column(const char* name, const Indices& indices, Get get) {
    std::vector<T> values;
    values.reserve(indices.size());
    for (uint32_t index : indices) values.push_back(static_cast<T>(get(index)));
    file_.Add(name, values);
  }

  void PackScopes() {
    const auto scope = [this](ScopeIndex s) -> const Scope& {
      return store_.scope(s);
    };
    Column<uint32_t>("scope_parent", scopes_, [&](ScopeIndex s) {
      return scope_numbers_[scope(s).parent];
    });
    Column<uint32_t>("scope_label", scopes_, [&](ScopeIndex s) {
      return strings_.Number(Label(scope(s).name));
    });
    Column<uint32_t>("scope_type", scopes_, [&](ScopeIndex s) {
      return strings_.Number(scope(s).type);
    });
  }

  void PackNodes() {
    const auto node = [this](NodeIndex n) -> const Node& {
      return store_.node(n);
    };
    Column<uint32_t>("node_scope", nodes_, [&](NodeIndex n) {
      return scope_numbers_[node(n).scope];
    });
    Column<uint32_t>("node_label", nodes_, [&](NodeIndex n) {
      return strings_.Number(Label(node(n).name));
    });
    Column<uint8_t>("node_kind", nodes_,
                    [&](NodeIndex n) { return node(n).kind; });
    Column<uint8_t>("node_category", nodes_,
                    [&](NodeIndex n) { return node(n).category; });
    Column<uint32_t>("node_op_type", nodes_, [&](NodeIndex n) {
      return strings_.Number(node(n).op_type);
    });
    Column<uint32_t>("node_forward", nodes_, [&](NodeIndex n) {
      const NodeIndex forward = node(n).forward;
      return forward == kNoNode ? kNone : node_numbers_[forward];
    });
  }

  void PackEdges() {
    std::vector<uint32_t> ends, froms, slots;
    std::vector<uint8_t> controls;
    for (NodeIndex n : nodes_) {
      for (const Input& input : store_.node(n).inputs) {
        if (input.node == kNoNode || node_numbers_[input.node] == kNone) {
          continue;
        }
        froms.push_back(node_numbers_[input.node]);
        slots.push_back(input.slot);
        controls.push_back(input.control ? 1 : 0);
      }
      ends.push_back(static_cast<uint32_t>(froms.size()));
    }
    edge_count_ = froms.size();
    file_.Add("edge_end", ends);
    file_.Add("edge_from", froms);
    file_.Add("edge_slot", slots);
    file_.Add("edge_control", controls);
  }

  void PackExecution() {
    std::vector<uint32_t> order;
    for (uint32_t number = 0; number < nodes_.size(); ++number) {
      if (store_.node(nodes_[number]).order != 0) order.push_back(number);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return store_.node(nodes_[a]).order < store_.node(nodes_[b]).order;
    });
    file_.Add("execution", order);
  }

  const GraphStore& store_;
  const Graph& graph_;
  // Of this graph, by number.
  std::vector<ScopeIndex> scopes_;
  std::vector<NodeIndex> nodes_;
  // By index; kNone: of another graph.
  std::vector<uint32_t> scope_numbers_;
  std::vector<uint32_t> node_numbers_;
  uint64_t edge_count_ = 0;
  StringTable strings_;
  ColumnFile file_;
};

}  // namespace

std::string PackGraph(const GraphStore& store, const Graph& graph) {
  return Packer(store, graph).Pack();
}

std::string PackEmptyGraph() {
  GraphStore store;
  AgentIds ids;
  store.Apply(GraphPatch{}, ids).IgnoreError();
  return PackGraph(store, *store.FindGraph(""));
}

}  // namespace graphdbg::graph
