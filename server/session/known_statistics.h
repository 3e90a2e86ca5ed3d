// Statistics that came with hits and answers, for those who look at a node.
#ifndef SERVER_SESSION_KNOWN_STATISTICS_H_
#define SERVER_SESSION_KNOWN_STATISTICS_H_

#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/graph/agent_ids.h"
#include "server/session/types.h"

namespace graphdbg::session {

// Not thread safe. Remembers the newest step of each tensor.
class KnownStatistics {
 public:
  struct Known {
    StatisticsInfo statistics;
    uint64_t step = 0;
  };

  void Note(uint32_t rank, graph::NodeIndex node, uint32_t slot, uint64_t step,
            const StatisticsInfo& statistics) {
    const Key key{rank, node, slot};
    auto it = known_.find(key);
    if (it == known_.end()) {
      if (known_.size() < kMaxKnown) known_[key] = {statistics, step};
    } else if (it->second.step <= step) {
      it->second = {statistics, step};
    }
  }

  // Null if nothing is known.
  const Known* Find(uint32_t rank, graph::NodeIndex node, uint32_t slot) const {
    auto it = known_.find(Key{rank, node, slot});
    return it == known_.end() ? nullptr : &it->second;
  }

 private:
  static constexpr size_t kMaxKnown = 500'000;
  using Key = std::tuple<uint32_t, graph::NodeIndex, uint32_t>;

  absl::flat_hash_map<Key, Known> known_;
};

}  // namespace graphdbg::session

#endif  // SERVER_SESSION_KNOWN_STATISTICS_H_
