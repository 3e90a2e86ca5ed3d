// A whole graph as packed columns, in the format of proto/docs/graph-index.md.
// A page loads it once.
#ifndef SERVER_GRAPH_PACKED_GRAPH_H_
#define SERVER_GRAPH_PACKED_GRAPH_H_

#include <string>
#include <vector>

#include "server/graph/graph_store.h"

namespace graphdbg::graph {

// Nodes and scopes are numbered in the order in which they became known, so
// that numbers stay valid while the graph grows.
std::string PackGraph(const GraphStore& store, const Graph& graph);

// The number of each node of the store in the graph's file; kNoNode for nodes
// of other graphs.
std::vector<NodeIndex> NumbersInFile(const GraphStore& store,
                                     const Graph& graph);

// The file for a graph without nodes.
std::string PackEmptyGraph();

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_PACKED_GRAPH_H_
