#include "server/graph/graph_view.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::graph {
namespace {

constexpr size_t kPageNodes = 1'000;
constexpr uint32_t kNotShown = std::numeric_limits<uint32_t>::max();

std::string LabelOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? name
                                                     : name.substr(slash + 1));
}

bool ShownBefore(const model::Node& a, const model::Node& b) {
  // An order of 0 means that the node does not execute; it wraps to the end.
  const uint64_t order_a = a.order - 1;
  const uint64_t order_b = b.order - 1;
  return std::tie(order_a, a.name, a.kind) < std::tie(order_b, b.name, b.kind);
}

}  // namespace

absl::Status UnknownNode(std::string_view name) {
  return Error(absl::StatusCode::kNotFound, "unknown_node",
               absl::StrCat("no node \"", std::string(name), "\""));
}

std::vector<model::GraphSummary> GraphView::Graphs() const {
  std::vector<model::GraphSummary> infos;
  for (const Graph& graph : store_.graphs()) {
    infos.push_back({graph.id, graph.node_count, graph.edge_count});
  }
  return infos;
}

absl::StatusOr<model::ScopeView> GraphView::ScopeNamed(
    std::string_view graph, std::string_view name,
    size_t aggregate_above) const {
  model::ScopeView view;
  view.scope = std::string(name);
  const bool main = graph.empty() || graph == kMainGraph;
  if (main && name.empty() && store_.FindGraph(graph) == nullptr) return view;
  ASSIGN_OR_RETURN(const Opened opened, Open(graph, name, aggregate_above));
  view.nodes.reserve(opened.items.size());
  for (const ViewItem& item : opened.items) {
    view.nodes.push_back(item.aggregate_label.empty()
                             ? Info(item.children.front())
                             : AggregateOf(*opened.scope, item));
  }
  view.edges = EdgesOf(opened, view.nodes);
  std::sort(view.nodes.begin(), view.nodes.end(), ShownBefore);
  return view;
}

absl::StatusOr<GraphView::Opened> GraphView::Open(
    std::string_view graph, std::string_view name,
    size_t aggregate_above) const {
  auto index = store_.FindScope(graph, name);
  if (index.ok()) {
    const Scope& scope = store_.scope(*index);
    return Opened{&scope, AggregateChildren(store_, scope, aggregate_above)};
  }
  const auto aggregate = ParseAggregate(name);
  if (!aggregate) return index.status();
  const auto parent = store_.FindScope(graph, aggregate->scope);
  if (!parent.ok()) return index.status();
  const Scope& scope = store_.scope(*parent);
  Opened opened{&scope, ExpandAggregate(store_, scope, *aggregate)};
  if (opened.items.empty()) return index.status();
  return opened;
}

std::vector<model::Edge> GraphView::EdgesOf(
    const Opened& opened, const std::vector<model::Node>& nodes) const {
  // The item that shows a node or scope.
  std::vector<uint32_t> node_places(store_.node_count(), kNotShown);
  std::vector<uint32_t> scope_places(store_.scope_count(), kNotShown);
  const auto place = [&](Child child) -> uint32_t& {
    return child.is_scope ? scope_places[child.index]
                          : node_places[child.index];
  };
  for (uint32_t i = 0; i < opened.items.size(); ++i) {
    for (Child child : opened.items[i].children) place(child) = i;
  }
  using Ends = std::tuple<uint32_t, uint32_t, bool>;
  absl::flat_hash_map<Ends, uint32_t> counts;
  for (const auto& [edge, count] : opened.scope->edges) {
    const uint32_t from = place(edge.from);
    const uint32_t to = place(edge.to);
    const bool shown = from != kNotShown && to != kNotShown && from != to;
    if (shown) counts[{from, to, edge.control}] += count;
  }
  std::vector<model::Edge> edges;
  edges.reserve(counts.size());
  for (const auto& [ends, count] : counts) {
    const auto& [from, to, control] = ends;
    edges.push_back(
        {nodes[from].name, nodes[to].name, count,
         control ? model::EdgeKind::kControl : model::EdgeKind::kData});
  }
  std::sort(edges.begin(), edges.end(),
            [](const model::Edge& a, const model::Edge& b) {
              return std::tie(a.from, a.to, a.kind) <
                     std::tie(b.from, b.to, b.kind);
            });
  return edges;
}

absl::StatusOr<model::SourceFile> GraphView::Source(
    std::string_view file) const {
  const std::string* text = store_.FileText(file);
  if (text != nullptr) return model::SourceFile{std::string(file), *text};
  return Error(
      absl::StatusCode::kNotFound, "unknown_file",
      absl::StrCat("the job has sent no file \"", std::string(file), "\""));
}

absl::StatusOr<model::NodeDetail> GraphView::Detail(
    std::string_view name) const {
  model::NodeDetail detail;
  const NodeIndex index = store_.FindNode(name);
  if (index == kNoNode) {
    for (const Graph& graph : store_.graphs()) {
      auto scope = graph.scopes.find(name);
      if (name.empty() || scope == graph.scopes.end()) continue;
      detail.node = ScopeOf(scope->second);
      detail.graph = graph.id;
      return detail;
    }
    return AggregateNamed(name);
  }
  const Node& node = store_.node(index);
  detail.node = NodeOf(index);
  detail.graph = store_.graphs()[node.graph].id;
  for (const Input& input : node.inputs) {
    if (input.node == kNoNode || input.control) continue;
    detail.inputs.push_back(EndpointOf(input.node, input.slot));
  }
  std::vector<Consumer> consumers = node.consumers;
  std::sort(consumers.begin(), consumers.end());
  for (const Consumer& consumer : consumers) {
    const Node& to = store_.node(consumer.node);
    const Input& input = to.inputs[consumer.position];
    if (input.control) continue;
    model::Endpoint end = EndpointOf(index, input.slot);
    end.node = to.name;
    detail.consumers.push_back(std::move(end));
  }
  detail.attributes = node.attributes;
  for (FrameIndex frame : node.stack) {
    detail.stack.push_back(store_.frame(frame));
  }
  return detail;
}

absl::StatusOr<model::NodeDetail> GraphView::AggregateNamed(
    std::string_view name) const {
  const auto aggregate = ParseAggregate(name);
  if (!aggregate) return UnknownNode(name);
  for (const Graph& graph : store_.graphs()) {
    auto opened = Open(graph.id, name, kNoAggregates);
    if (!opened.ok()) continue;
    ViewItem all;
    all.aggregate_label = AggregateLabel(aggregate->stem, aggregate->range);
    for (const ViewItem& item : opened->items) {
      all.children.insert(all.children.end(), item.children.begin(),
                          item.children.end());
    }
    model::NodeDetail detail;
    detail.node = AggregateOf(*opened->scope, all);
    detail.graph = graph.id;
    return detail;
  }
  return UnknownNode(name);
}

absl::StatusOr<model::GraphPage> GraphView::Page(std::string_view graph,
                                                 uint64_t from) const {
  model::GraphPage page;
  const Graph* found = store_.FindGraph(graph);
  const bool main = graph.empty() || graph == kMainGraph;
  page.graph = found != nullptr ? found->id : std::string(kMainGraph);
  if (found == nullptr && main) return page;
  if (found == nullptr) return store_.FindScope(graph, "").status();
  for (uint64_t i = from; i < store_.node_count(); ++i) {
    const auto index = static_cast<NodeIndex>(i);
    const Node& node = store_.node(index);
    if (&store_.graphs()[node.graph] != found) continue;
    if (page.nodes.size() == kPageNodes) {
      page.next = i;
      break;
    }
    page.nodes.push_back({NodeOf(index), node.attributes, InputsOf(index)});
  }
  return page;
}

std::vector<model::NeighbourEdge> GraphView::InputsOf(NodeIndex index) const {
  const Node& node = store_.node(index);
  std::vector<model::NeighbourEdge> edges;
  for (uint32_t i = 0; i < node.inputs.size(); ++i) {
    const Input& input = node.inputs[i];
    if (input.node == kNoNode) continue;
    edges.push_back(
        {store_.node(input.node).name, input.slot, node.name, i,
         input.control ? model::EdgeKind::kControl : model::EdgeKind::kData});
  }
  return edges;
}

model::Node GraphView::Info(Child child) const {
  return child.is_scope ? ScopeOf(child.index) : NodeOf(child.index);
}

model::Endpoint GraphView::EndpointOf(NodeIndex node, uint32_t slot) const {
  model::Endpoint end;
  end.node = store_.node(node).name;
  end.slot = slot;
  for (const model::Output& output : store_.node(node).outputs) {
    if (output.slot == slot) end.type = output.type;
  }
  return end;
}

model::Node GraphView::NodeOf(NodeIndex index) const {
  const Node& node = store_.node(index);
  const Child child{false, index};
  model::Node info;
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

model::Node GraphView::ScopeOf(ScopeIndex index) const {
  const Scope& scope = store_.scope(index);
  const Child child{true, index};
  model::Node info;
  info.name = scope.name;
  info.label = LabelOf(scope.name);
  info.kind = model::NodeKind::kScope;
  info.op_type = scope.type;
  info.child_count =
      static_cast<uint32_t>(scope.scopes.size() + scope.nodes.size());
  info.descendant_count = scope.descendants;
  info.hit_count = annotations_.HitsOf(child);
  info.watched = annotations_.WatchedOf(child);
  info.order = scope.order;
  return info;
}

GraphView::Facts GraphView::FactsOf(Child child) const {
  if (!child.is_scope) {
    const Node& node = store_.node(child.index);
    return {node.op_type, node.category, node.order, 1};
  }
  const Scope& scope = store_.scope(child.index);
  return {scope.type, model::Category::kOther, scope.order, scope.descendants};
}

model::Node GraphView::AggregateOf(const Scope& scope,
                                   const ViewItem& item) const {
  model::Node info;
  info.label = item.aggregate_label;
  info.name = scope.name.empty() ? info.label
                                 : absl::StrCat(scope.name, "/", info.label);
  info.kind = model::NodeKind::kAggregate;
  info.child_count = static_cast<uint32_t>(item.children.size());
  const Facts first = FactsOf(item.children.front());
  info.op_type = std::string(first.type);
  info.category = first.category;
  info.order = first.order;
  size_t watched = 0;
  size_t unwatched = 0;
  for (Child child : item.children) {
    const Facts facts = FactsOf(child);
    // The aggregate omits properties in which its members differ.
    if (facts.type != first.type) info.op_type.clear();
    if (facts.category != first.category) {
      info.category = model::Category::kOther;
    }
    // An order of 0 counts as the last.
    info.order = std::min(info.order - 1, facts.order - 1) + 1;
    info.descendant_count += facts.descendants;
    info.hit_count += annotations_.HitsOf(child);
    const model::Watched state = annotations_.WatchedOf(child);
    watched += state == model::Watched::kAll;
    unwatched += state == model::Watched::kNone;
  }
  info.watched = model::Watched::kSome;
  if (watched == item.children.size()) info.watched = model::Watched::kAll;
  if (unwatched == item.children.size()) {
    info.watched = model::Watched::kNone;
  }
  return info;
}

}  // namespace graphdbg::graph
