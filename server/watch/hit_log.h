// The hits of one job, and their numbers by node, scope and watchpoint.
#ifndef SERVER_WATCH_HIT_LOG_H_
#define SERVER_WATCH_HIT_LOG_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"
#include "server/watch/watch_table.h"

namespace graphdbg::watch {

// A hit as the log and the store keep it.
struct HitRecord {
  graph::NodeIndex node = 0;
  // Its node and op type are empty.
  model::Hit hit;
};

// Stores the first `max_hits` hits, which show where a problem began, and only
// counts later ones. Not thread safe.
class HitLog {
 public:
  static constexpr size_t kMaxHits = 200'000;

  // The graph outlives the log.
  explicit HitLog(const graph::GraphStore& graph, size_t max_hits = kMaxHits)
      : graph_(graph), max_hits_(max_hits) {}

  // Returns the id of the next hit to be added.
  uint64_t Reserve() { return ++reserved_; }
  // Whether the hit with this id is stored, not only counted.
  bool Keeps(uint64_t id) const { return id <= max_hits_; }
  // Hits must be added in the order of their ids, which come from Reserve(); id
  // 0 takes the next one. Returns the hit with the name of its node.
  model::Hit Add(HitRecord record);
  // Sets the number of hits, including those that were only counted.
  void RestoreTotal(uint64_t total);

  uint64_t total() const { return total_; }
  // How many of these were absorbed. Not included in the counts below.
  uint64_t absorbed() const { return absorbed_; }
  size_t kept() const { return hits_.size(); }
  // Further hits are only counted.
  bool full() const { return total_ >= max_hits_; }
  uint64_t CountOf(graph::Child child) const;
  uint64_t CountOfWatchpoint(uint32_t id) const;

  // The stored hits on one tensor.
  struct TensorHits {
    uint64_t count = 0;
    // Newest first.
    std::vector<model::Hit> newest;
  };
  TensorHits OnTensor(graph::NodeIndex node, uint32_t slot, size_t limit) const;

  // Hits in execution order: by step, position in the step, rank. The query may
  // name a scope to get the hits of all nodes in it. INVALID_ARGUMENT
  // "invalid_cursor". `incident_of` returns the incident of a hit by its id; it
  // is needed if the query names an incident.
  using IncidentOf = std::function<uint64_t(uint64_t id)>;
  absl::StatusOr<model::HitPage> Query(
      const model::HitQuery& query, const IncidentOf& incident_of = {}) const;
  // The stored hit with this id. NOT_FOUND "unknown_hit".
  absl::StatusOr<model::Hit> Get(uint64_t id) const;
  // Calls `visit` with each stored hit, in execution order.
  template <class Visitor>
  void VisitInOrder(const Visitor& visit) const {
    for (const Key& key : by_execution_) visit(hits_[key.id - 1]);
  }
  // The last stored hits, oldest first.
  std::vector<model::Hit> Newest(size_t limit) const;

 private:
  struct Key {
    uint64_t step = 0;
    uint64_t order = 0;
    uint32_t rank = 0;
    uint64_t id = 0;

    auto operator<=>(const Key&) const = default;
  };

  static absl::StatusOr<Key> ParseCursor(const std::string& cursor);
  bool Matches(const HitRecord& record, const model::HitQuery& query) const;
  void Count(const HitRecord& record);
  // Completes the source from the graph. Most hits on a node have the same
  // source, so a hit shares that of the node's previous hit if they are equal.
  void ShareSource(HitRecord& record) const;
  // The hit with the name of its node.
  model::Hit Resolve(const HitRecord& record) const;

  const graph::GraphStore& graph_;
  const size_t max_hits_;
  uint64_t reserved_ = 0;
  uint64_t total_ = 0;
  uint64_t absorbed_ = 0;
  // The hit with id i is at index i - 1.
  std::deque<HitRecord> hits_;
  absl::btree_set<Key> by_execution_;
  // Ascending ids.
  absl::flat_hash_map<graph::NodeIndex, std::vector<uint64_t>> by_node_;
  absl::flat_hash_map<graph::Child, uint64_t> counts_;
  absl::flat_hash_map<uint32_t, uint64_t> watchpoint_counts_;
};

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_HIT_LOG_H_
