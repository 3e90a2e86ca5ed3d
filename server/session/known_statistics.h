// Statistics that came with hits and answers, for those who look at a tensor.
#ifndef SERVER_SESSION_KNOWN_STATISTICS_H_
#define SERVER_SESSION_KNOWN_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/agent_ids.h"
#include "server/session/types.h"

namespace graphdbg::session {

// Not thread safe. Of each tensor the newest steps, and of all tensors no more
// than a limit: at either a tensor's oldest step makes room for a newer one,
// and a tensor that has none stays without.
class KnownStatistics {
 public:
  struct Limits {
    size_t steps_of_a_tensor = 1'000;
    size_t all_steps = 200'000;
  };

  KnownStatistics() : KnownStatistics(Limits()) {}
  explicit KnownStatistics(Limits limits) : limits_(limits) {}

  struct Noted {
    bool kept = false;
    // That of the same tensor which had to go.
    std::optional<uint64_t> dropped_step;
  };
  // In the place of what was known of that step.
  Noted Note(uint32_t rank, graph::NodeIndex node, uint32_t slot, uint64_t step,
             const StatisticsInfo& statistics);

  // The newest step; null if nothing is known.
  const StatisticsPoint* Find(uint32_t rank, graph::NodeIndex node,
                              uint32_t slot) const;
  // Ascending by step.
  std::vector<StatisticsPoint> History(uint32_t rank, graph::NodeIndex node,
                                       uint32_t slot) const;

  uint64_t bytes() const { return size_ * sizeof(StatisticsPoint); }

 private:
  using Key = std::tuple<uint32_t, graph::NodeIndex, uint32_t>;

  const Limits limits_;
  // Ascending by step; never empty.
  absl::flat_hash_map<Key, std::vector<StatisticsPoint>> known_;
  // Of all tensors.
  size_t size_ = 0;
};

}  // namespace graphdbg::session

#endif  // SERVER_SESSION_KNOWN_STATISTICS_H_
