// Finding nodes by what is known of them.
#ifndef SERVER_GRAPH_SEARCH_H_
#define SERVER_GRAPH_SEARCH_H_

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"

namespace graphdbg::graph {

// Nodes, or scopes if the query's kind asks for them, in the order in which
// they became known: a cursor stays good while the graph grows.
// INVALID_ARGUMENT "invalid_cursor".
absl::StatusOr<model::SearchResult> Search(const GraphStore& store,
                                           const Annotations& annotations,
                                           const model::SearchQuery& query);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_SEARCH_H_
