// The producers and consumers around a tensor.
#ifndef SERVER_MODEL_NEIGHBOURS_H_
#define SERVER_MODEL_NEIGHBOURS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/model/graph.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::model {

// A request for the producers and consumers of a tensor.
struct NeighbourQuery {
  std::string node;
  uint32_t slot = 0;
  // Maximum distance, upstream and downstream.
  uint32_t depth = 1;
  // The rank whose statistics are returned.
  uint32_t rank = 0;
};

// A node near the requested tensor.
struct NeighbourNode {
  Node node;
  // 0 for the producer of the requested tensor, negative upstream of it,
  // positive downstream.
  int32_t distance = 0;
};

// An output of a node near the requested tensor.
struct NeighbourTensor {
  Endpoint tensor;
  // The most recent known statistics, and the step they belong to.
  std::optional<Statistics> statistics;
  uint64_t statistics_step = 0;
  // Hits on all ranks, and the newest of them.
  uint64_t hit_count = 0;
  std::vector<Hit> hits;
};

// The neighbourhood of a tensor.
struct Neighbours {
  Endpoint tensor;
  // Sorted by distance and execution order.
  std::vector<NeighbourNode> nodes;
  std::vector<NeighbourEdge> edges;
  // The outputs of these nodes.
  std::vector<NeighbourTensor> tensors;
  // The neighbourhood was cut off at the size limit.
  bool truncated = false;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_NEIGHBOURS_H_
