#include "server/graph/neighbours.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace graphdbg::graph {
namespace {

// Alternates between the directions, so that the limit on nodes cuts both at
// the same distance.
class Walk {
 public:
  Walk(const GraphStore& store, NodeIndex node, uint32_t slot, size_t max_nodes)
      : store_(store), start_(node), slot_(slot), max_nodes_(max_nodes) {
    distances_[node] = 0;
    above_ = below_ = {node};
  }

  Surroundings Run(uint32_t depth) && {
    for (uint32_t i = 1; i <= depth && !around_.truncated; ++i) {
      const auto distance = static_cast<int32_t>(i);
      GoUp(-distance);
      GoDown(distance);
    }
    for (const auto& [node, distance] : distances_) {
      around_.nodes.push_back({node, distance});
    }
    std::sort(around_.nodes.begin(), around_.nodes.end(),
              [this](const auto& a, const auto& b) { return Before(a, b); });
    auto& edges = around_.edges;
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return std::move(around_);
  }

 private:
  void GoUp(int32_t distance) {
    std::vector<NodeIndex> next;
    for (NodeIndex node : above_) {
      const auto& inputs = store_.node(node).inputs;
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].node == kNoNode) continue;
        if (Reach(inputs[i].node, distance, next)) {
          around_.edges.push_back({node, i});
        }
      }
    }
    above_ = std::move(next);
  }

  void GoDown(int32_t distance) {
    std::vector<NodeIndex> next;
    for (NodeIndex node : below_) {
      for (const Consumer& consumer : store_.node(node).consumers) {
        const Input& input =
            store_.node(consumer.node).inputs[consumer.position];
        if (node == start_ && (input.slot != slot_ || input.control)) continue;
        if (Reach(consumer.node, distance, next)) {
          around_.edges.push_back({consumer.node, consumer.position});
        }
      }
    }
    below_ = std::move(next);
  }

  // Returns whether the node is part of the neighbourhood.
  bool Reach(NodeIndex node, int32_t distance, std::vector<NodeIndex>& next) {
    if (distances_.contains(node)) return true;
    if (distances_.size() >= max_nodes_) {
      around_.truncated = true;
      return false;
    }
    distances_[node] = distance;
    next.push_back(node);
    return true;
  }

  bool Before(const Surroundings::At& a, const Surroundings::At& b) const {
    return std::tuple(a.distance, store_.node(a.node).order, a.node) <
           std::tuple(b.distance, store_.node(b.node).order, b.node);
  }

  const GraphStore& store_;
  const NodeIndex start_;
  const uint32_t slot_;
  const size_t max_nodes_;
  absl::flat_hash_map<NodeIndex, int32_t> distances_;
  // The nodes reached in the last round.
  std::vector<NodeIndex> above_;
  std::vector<NodeIndex> below_;
  Surroundings around_;
};

}  // namespace

Surroundings FindNeighbours(const GraphStore& store, NodeIndex node,
                            uint32_t slot, uint32_t depth, size_t max_nodes) {
  return Walk(store, node, slot, max_nodes).Run(depth);
}

}  // namespace graphdbg::graph
