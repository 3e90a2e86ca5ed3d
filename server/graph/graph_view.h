// Answers queries about a graph with values of the API.
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

// Holds references; create one for each query.
class GraphView {
 public:
  static constexpr size_t kNoAggregates = std::numeric_limits<size_t>::max();

  GraphView(const GraphStore& store, const Annotations& annotations)
      : store_(store), annotations_(annotations) {}

  std::vector<model::GraphSummary> Graphs() const;
  // Children in execution order, then by name; those that do not execute come
  // last. Before the first node, the root of the main graph is empty rather
  // than unknown. Groups of more than `aggregate_above` similar siblings are
  // shown as one aggregate, whose name can be passed as `name`.
  absl::StatusOr<model::ScopeView> ScopeNamed(
      std::string_view graph, std::string_view name,
      size_t aggregate_above = kNoAggregates) const;
  // Describes the node, or the scope if no node has this name. NOT_FOUND
  // "unknown_node".
  absl::StatusOr<model::NodeDetail> Detail(std::string_view name) const;
  // NOT_FOUND "unknown_file".
  absl::StatusOr<model::SourceFile> Source(std::string_view file) const;

  // A page of the graph's nodes, starting at index `from`. NOT_FOUND
  // "unknown_graph".
  absl::StatusOr<model::GraphPage> Page(std::string_view graph,
                                        uint64_t from) const;

  model::Node Info(Child child) const;
  // The tensor at an output. Its type is unspecified if it is not known.
  model::Endpoint EndpointOf(NodeIndex node, uint32_t slot) const;

 private:
  model::Node NodeOf(NodeIndex index) const;
  std::vector<model::NeighbourEdge> InputsOf(NodeIndex index) const;
  model::Node ScopeOf(ScopeIndex index) const;
  // The properties that nodes and scopes have in common.
  struct Facts {
    std::string_view type;
    model::Category category = model::Category::kOther;
    uint64_t order = 0;
    uint32_t descendants = 0;
  };
  Facts FactsOf(Child child) const;
  // `scope` contains the aggregate.
  model::Node AggregateOf(const Scope& scope, const ViewItem& item) const;
  absl::StatusOr<model::NodeDetail> AggregateNamed(std::string_view name) const;
  // The items that the view of a scope or an aggregate shows.
  struct Opened {
    // The scope, or the one that contains the aggregate.
    const Scope* scope = nullptr;
    std::vector<ViewItem> items;
  };
  absl::StatusOr<Opened> Open(std::string_view graph, std::string_view name,
                              size_t aggregate_above) const;
  std::vector<model::Edge> EdgesOf(const Opened& opened,
                                   const std::vector<model::Node>& nodes) const;

  const GraphStore& store_;
  const Annotations& annotations_;
};

// A NOT_FOUND error "unknown_node" that names the node.
absl::Status UnknownNode(std::string_view name);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_GRAPH_VIEW_H_
