// Statistics that came with hits, answers and reports, for those who look at a
// tensor.
#ifndef SERVER_JOBS_KNOWN_STATISTICS_H_
#define SERVER_JOBS_KNOWN_STATISTICS_H_

#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/agent_ids.h"
#include "server/model/tensor.h"

namespace graphdbg::jobs {

// Not thread safe. Of each tensor the newest steps, and of all tensors no more
// than a limit: at either a tensor's oldest step makes room for a newer one,
// and a tensor that has none stays without.
class KnownStatistics {
 public:
  struct Limits {
    size_t steps_of_a_tensor = 1'000;
    size_t all_steps = 200'000;
    // Where those that nobody asked for stop, so that there is room for those
    // that somebody does.
    size_t all_reported_steps = 150'000;
  };
  enum class Source {
    // Written down with the hit.
    kHit,
    // Somebody asked for the tensor.
    kAnswer,
    // Watched.
    kReport,
    // Watched, where a restart may forget it.
    kPassingReport,
  };

  KnownStatistics() : KnownStatistics(Limits()) {}
  explicit KnownStatistics(Limits limits) : limits_(limits) {}

  struct Noted {
    bool kept = false;
    // It is to be written down.
    bool write = false;
    // One of the same tensor that had to go and was written down.
    std::optional<uint64_t> erase_step;
  };
  // In the place of what was known of that step.
  Noted Note(uint32_t rank, graph::NodeIndex node, uint32_t slot, uint64_t step,
             const model::Statistics& statistics, Source source);

  // The newest step; null if nothing is known.
  const model::StatisticsPoint* Find(uint32_t rank, graph::NodeIndex node,
                                     uint32_t slot) const;
  // Ascending by step.
  std::vector<model::StatisticsPoint> History(uint32_t rank,
                                              graph::NodeIndex node,
                                              uint32_t slot) const;

  // Steps of all tensors.
  size_t size() const { return size_; }
  uint64_t bytes() const { return size_ * sizeof(Point); }

 private:
  using Key = std::tuple<uint32_t, graph::NodeIndex, uint32_t>;
  struct Point : model::StatisticsPoint {
    bool written = false;
  };
  // Ascending by step.
  using Series = boost::circular_buffer<Point>;

  const Limits limits_;
  absl::flat_hash_map<Key, Series> known_;  // None is empty.
  // Of all tensors.
  size_t size_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_KNOWN_STATISTICS_H_
