// The neighbourhood of a tensor: the nodes upstream and downstream of it.
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
    // 0 for the tensor's producer, negative upstream, positive downstream.
    int32_t distance = 0;

    bool operator==(const At&) const = default;
  };
  // Sorted by distance and execution order.
  std::vector<At> nodes;
  struct Edge {
    NodeIndex to = 0;
    // Argument position at that node. The producer is one of `nodes` too.
    uint32_t position = 0;

    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;
  // The limit on the number of nodes was reached.
  bool truncated = false;
};

// Follows up to `depth` edges upstream from the node, and downstream from this
// output. If there are more than `max_nodes` nodes, the nearest ones are found.
Surroundings FindNeighbours(const GraphStore& store, NodeIndex node,
                            uint32_t slot, uint32_t depth, size_t max_nodes);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_NEIGHBOURS_H_
