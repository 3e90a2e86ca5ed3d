// Search for nodes and scopes.
#ifndef SERVER_GRAPH_SEARCH_H_
#define SERVER_GRAPH_SEARCH_H_

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"

namespace graphdbg::graph {

// Finds nodes, or scopes if the query asks for kind kScope. Nodes whose name
// contains `q` come before those whose code does. Otherwise results are in the
// order in which they became known, so that a cursor stays valid while the
// graph grows. INVALID_ARGUMENT "invalid_cursor".
absl::StatusOr<model::SearchResult> Search(const GraphStore& store,
                                           const Annotations& annotations,
                                           const model::SearchQuery& query);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_SEARCH_H_
