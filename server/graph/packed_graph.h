// A whole graph as packed columns: what a page loads once.
// proto/docs/graph-index.md describes the layout.
#ifndef SERVER_GRAPH_PACKED_GRAPH_H_
#define SERVER_GRAPH_PACKED_GRAPH_H_

#include <string>

#include "server/graph/graph_store.h"

namespace graphdbg::graph {

// Nodes and scopes are numbered in the order in which they became known, so
// that a number stays good while the graph grows.
std::string PackGraph(const GraphStore& store, const Graph& graph);

// A graph before its first node.
std::string PackEmptyGraph();

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_PACKED_GRAPH_H_
