// What lies around a tensor: the nodes that it is made of and that use it.
#ifndef SERVER_GRAPH_NEIGHBOURS_H_
#define SERVER_GRAPH_NEIGHBOURS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/graph/graph_store.h"

namespace graphdbg::graph {

struct Surroundings {
  struct At {
    NodeIndex node = 0;
    // 0: the tensor's own node; below 0: made before it, above: of it.
    int32_t distance = 0;

    bool operator==(const At&) const = default;
  };
  // By distance and execution order.
  std::vector<At> nodes;
  struct Edge {
    NodeIndex to = 0;
    // Of the input at that node, whose producer is among the nodes too.
    uint32_t position = 0;

    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;
  // There are more nodes than were allowed.
  bool truncated = false;
};

// `depth` edges up from the node, and down from this output of it. The nearest
// nodes come first if there are more than `max_nodes`.
Surroundings FindNeighbours(const GraphStore& store, NodeIndex node,
                            uint32_t slot, uint32_t depth, size_t max_nodes);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_NEIGHBOURS_H_
