// A graph in the words of the API.
#ifndef SERVER_GRAPH_GRAPH_VIEW_H_
#define SERVER_GRAPH_GRAPH_VIEW_H_

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/aggregates.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"

namespace graphdbg::graph {

// Short-lived: made for one question, holds references.
class GraphView {
 public:
  static constexpr size_t kNoAggregates = std::numeric_limits<size_t>::max();

  GraphView(const GraphStore& store, const Annotations& annotations)
      : store_(store), annotations_(annotations) {}

  std::vector<model::GraphSummary> Graphs() const;
  // Children in execution order, those that do not execute last, then by name.
  // The top of the main graph is empty, not unknown, before the first node.
  // More than `aggregate_above` like siblings are shown as one; the name may be
  // that of such an aggregate.
  absl::StatusOr<model::ScopeView> ScopeNamed(
      std::string_view graph, std::string_view name,
      size_t aggregate_above = kNoAggregates) const;
  // Of a node, or of a scope if no node has that name. NOT_FOUND
  // "unknown_node".
  absl::StatusOr<model::NodeDetail> Detail(std::string_view name) const;

  // Nodes of a graph from this index on, those of other graphs left out.
  // NOT_FOUND "unknown_graph".
  absl::StatusOr<model::GraphPage> Page(std::string_view graph,
                                        uint64_t from) const;

  model::Node Info(Child child) const;
  // The tensor at an output; its type is empty if not known.
  model::Endpoint EndpointOf(NodeIndex node, uint32_t slot) const;

 private:
  model::Node NodeOf(NodeIndex index) const;
  std::vector<model::NeighbourEdge> InputsOf(NodeIndex index) const;
  model::Node ScopeOf(ScopeIndex index) const;
  // What nodes and scopes have alike.
  struct Facts {
    std::string_view type;
    model::Category category = model::Category::kOther;
    uint64_t order = 0;
    uint32_t descendants = 0;
  };
  Facts FactsOf(Child child) const;
  // `scope` is the one that holds it.
  model::Node AggregateOf(const Scope& scope, const Shown& shown) const;
  absl::StatusOr<model::NodeDetail> AggregateNamed(std::string_view name) const;
  // What the name shows, and the scope in which it lies.
  struct Opened {
    const Scope* scope = nullptr;
    std::vector<Shown> shown;
  };
  absl::StatusOr<Opened> Open(std::string_view graph, std::string_view name,
                              size_t aggregate_above) const;
  std::vector<model::Edge> EdgesOf(const Opened& opened,
                                   const std::vector<model::Node>& nodes) const;

  const GraphStore& store_;
  const Annotations& annotations_;
};

// NOT_FOUND "unknown_node", naming it.
absl::Status UnknownNode(std::string_view name);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_GRAPH_VIEW_H_
