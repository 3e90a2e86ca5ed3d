#include "server/graph/graph_view.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::graph {
namespace {

std::string LabelOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? name
                                                     : name.substr(slash + 1));
}

bool ShownBefore(const session::NodeInfo& a, const session::NodeInfo& b) {
  // 0 means that it does not execute: after all that do.
  const uint64_t order_a = a.order - 1;
  const uint64_t order_b = b.order - 1;
  return std::tie(order_a, a.name, a.kind) < std::tie(order_b, b.name, b.kind);
}

}  // namespace

absl::Status UnknownNode(std::string_view name) {
  return Error(absl::StatusCode::kNotFound, "unknown_node",
               absl::StrCat("no node \"", std::string(name), "\""));
}

std::vector<session::GraphInfo> GraphView::Graphs() const {
  std::vector<session::GraphInfo> infos;
  for (const Graph& graph : store_.graphs()) {
    infos.push_back({graph.id, graph.node_count, graph.edge_count});
  }
  return infos;
}

absl::StatusOr<session::ScopeView> GraphView::ScopeNamed(
    std::string_view graph, std::string_view name) const {
  session::ScopeView view;
  view.scope = std::string(name);
  const bool main = graph.empty() || graph == kMainGraph;
  if (main && name.empty() && store_.FindGraph(graph) == nullptr) return view;
  auto index = store_.FindScope(graph, name);
  if (!index.ok()) return index.status();

  const Scope& scope = store_.scope(*index);
  view.nodes.reserve(scope.scopes.size() + scope.nodes.size());
  for (ScopeIndex s : scope.scopes) view.nodes.push_back(ScopeOf(s));
  for (NodeIndex n : scope.nodes) view.nodes.push_back(NodeOf(n));
  std::sort(view.nodes.begin(), view.nodes.end(), ShownBefore);

  auto name_of = [&](Child child) -> const std::string& {
    return child.is_scope ? store_.scope(child.index).name
                          : store_.node(child.index).name;
  };
  view.edges.reserve(scope.edges.size());
  for (const auto& [edge, count] : scope.edges) {
    view.edges.push_back({name_of(edge.from), name_of(edge.to), count,
                          edge.control ? session::EdgeKind::kControl
                                       : session::EdgeKind::kData});
  }
  std::sort(view.edges.begin(), view.edges.end(),
            [](const session::EdgeInfo& a, const session::EdgeInfo& b) {
              return std::tie(a.from, a.to, a.kind) <
                     std::tie(b.from, b.to, b.kind);
            });
  return view;
}

absl::StatusOr<session::NodeDetail> GraphView::Detail(
    std::string_view name) const {
  session::NodeDetail detail;
  const NodeIndex index = store_.FindNode(name);
  if (index == kNoNode) {
    for (const Graph& graph : store_.graphs()) {
      auto scope = graph.scopes.find(name);
      if (name.empty() || scope == graph.scopes.end()) continue;
      detail.node = ScopeOf(scope->second);
      return detail;
    }
    return UnknownNode(name);
  }
  const Node& node = store_.node(index);
  detail.node = NodeOf(index);
  for (const Input& input : node.inputs) {
    if (input.node == kNoNode || input.control) continue;
    detail.inputs.push_back(EndpointOf(input.node, input.slot));
  }
  for (const Consumer& consumer : node.consumers) {
    const Node& to = store_.node(consumer.node);
    const Input& input = to.inputs[consumer.position];
    if (input.control) continue;
    session::Endpoint end = EndpointOf(index, input.slot);
    end.node = to.name;
    detail.consumers.push_back(std::move(end));
  }
  detail.attributes = node.attributes;
  for (FrameIndex frame : node.stack) {
    detail.stack.push_back(store_.frame(frame));
  }
  return detail;
}

session::NodeInfo GraphView::Info(Child child) const {
  return child.is_scope ? ScopeOf(child.index) : NodeOf(child.index);
}

session::Endpoint GraphView::EndpointOf(NodeIndex node, uint32_t slot) const {
  session::Endpoint end;
  end.node = store_.node(node).name;
  end.slot = slot;
  for (const session::OutputInfo& output : store_.node(node).outputs) {
    if (output.slot == slot) end.type = output.type;
  }
  return end;
}

session::NodeInfo GraphView::NodeOf(NodeIndex index) const {
  const Node& node = store_.node(index);
  const Child child{false, index};
  session::NodeInfo info;
  info.name = node.name;
  info.label = LabelOf(node.name);
  info.kind = node.kind;
  info.op_type = node.op_type;
  info.category = node.category;
  info.outputs = node.outputs;
  info.hit_count = annotations_.HitsOf(child);
  info.watched = annotations_.WatchedOf(child);
  if (const auto* source = store_.SourceOf(index)) info.source = *source;
  info.order = node.order;
  info.first_step = node.first_step;
  info.last_step = node.last_step;
  return info;
}

session::NodeInfo GraphView::ScopeOf(ScopeIndex index) const {
  const Scope& scope = store_.scope(index);
  const Child child{true, index};
  session::NodeInfo info;
  info.name = scope.name;
  info.label = LabelOf(scope.name);
  info.kind = session::NodeKind::kScope;
  info.op_type = scope.type;
  info.child_count =
      static_cast<uint32_t>(scope.scopes.size() + scope.nodes.size());
  info.descendant_count = scope.descendants;
  info.hit_count = annotations_.HitsOf(child);
  info.watched = annotations_.WatchedOf(child);
  info.order = scope.order;
  return info;
}

}  // namespace graphdbg::graph
