// A graph in the words of the API.
#ifndef SERVER_GRAPH_GRAPH_VIEW_H_
#define SERVER_GRAPH_GRAPH_VIEW_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/session/types.h"

namespace graphdbg::graph {

// Short-lived: made for one question, holds references.
class GraphView {
 public:
  GraphView(const GraphStore& store, const Annotations& annotations)
      : store_(store), annotations_(annotations) {}

  std::vector<session::GraphInfo> Graphs() const;
  // Children in execution order, those that do not execute last, then by name.
  // The top of the main graph is empty, not unknown, before the first node.
  absl::StatusOr<session::ScopeView> ScopeNamed(std::string_view graph,
                                                std::string_view name) const;
  // Of a node, or of a scope if no node has that name. NOT_FOUND
  // "unknown_node".
  absl::StatusOr<session::NodeDetail> Detail(std::string_view name) const;

  session::NodeInfo Info(Child child) const;
  // The tensor at an output; its type is empty if not known.
  session::Endpoint EndpointOf(NodeIndex node, uint32_t slot) const;

 private:
  session::NodeInfo NodeOf(NodeIndex index) const;
  session::NodeInfo ScopeOf(ScopeIndex index) const;

  const GraphStore& store_;
  const Annotations& annotations_;
};

// NOT_FOUND "unknown_node", naming it.
absl::Status UnknownNode(std::string_view name);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_GRAPH_VIEW_H_
