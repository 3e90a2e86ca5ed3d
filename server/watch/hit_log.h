// The hits of one job, and how many there were where.
#ifndef SERVER_WATCH_HIT_LOG_H_
#define SERVER_WATCH_HIT_LOG_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

struct HitRecord {
  // From HitLog::Reserve; 0: the log gives it the next one.
  uint64_t id = 0;
  uint32_t watchpoint = 0;
  uint32_t revision = 0;
  // Of that revision.
  ConditionPtr condition;
  uint32_t rank = 0;
  uint64_t step = 0;
  graph::NodeIndex node = 0;
  uint32_t slot = 0;
  uint64_t order = 0;
  std::map<std::string, double> actual;
  model::Statistics statistics;
  model::TensorType type;
  model::Origin origin = model::Origin::kUnknown;
  std::optional<model::SourceLine> source;
  std::string error;
  int64_t time_unix_nano = 0;
};

// Not thread safe. Keeps the first `max_hits` hits, which show where trouble
// began, and only counts those after them.
class HitLog {
 public:
  static constexpr size_t kMaxHits = 200'000;

  // The graph outlives the log.
  explicit HitLog(const graph::GraphStore& graph, size_t max_hits = kMaxHits)
      : graph_(graph), max_hits_(max_hits) {}

  // The id of the next hit to be added.
  uint64_t Reserve() { return ++reserved_; }
  // Whether the hit of this id is kept, and not only counted.
  bool Keeps(uint64_t id) const { return id <= max_hits_; }
  // Hits come in the order of their ids. Returns the hit as people see it.
  model::Hit Add(HitRecord record);
  // There were so many hits, of which the last were only counted.
  void RestoreTotal(uint64_t total);

  uint64_t total() const { return total_; }
  size_t kept() const { return hits_.size(); }
  // Hits from now on are counted and not kept.
  bool full() const { return total_ >= max_hits_; }
  uint64_t CountOf(graph::Child child) const;
  uint64_t CountOfWatchpoint(uint32_t id) const;

  // Of one tensor: how many of the hits kept, and the newest of them, newest
  // first.
  struct OfTensor {
    uint64_t count = 0;
    std::vector<model::Hit> newest;
  };
  OfTensor Of(graph::NodeIndex node, uint32_t slot, size_t limit) const;

  // In execution order: by step, position in the step, rank. The query's node
  // may be a scope, for all below it. INVALID_ARGUMENT "invalid_cursor".
  absl::StatusOr<model::HitPage> Query(const model::HitQuery& query) const;
  // Of those that are kept, the last that came, oldest first.
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
  bool Matches(const HitRecord& hit, const model::HitQuery& query) const;
  model::Hit Render(const HitRecord& hit) const;

  const graph::GraphStore& graph_;
  const size_t max_hits_;
  uint64_t reserved_ = 0;
  uint64_t total_ = 0;
  // The hit of id i lies at i - 1.
  std::deque<HitRecord> hits_;
  absl::btree_set<Key> by_execution_;
  // Ids, ascending.
  absl::flat_hash_map<graph::NodeIndex, std::vector<uint64_t>> by_node_;
  absl::flat_hash_map<graph::Child, uint64_t> counts_;
  absl::flat_hash_map<uint32_t, uint64_t> watchpoint_counts_;
};

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_HIT_LOG_H_
