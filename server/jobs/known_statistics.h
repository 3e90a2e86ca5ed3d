// The statistics of tensors that the server knows without asking an agent.
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

// Keeps the newest steps of each tensor, within a limit for one tensor and one
// for all tensors. At either limit a tensor's oldest step makes room for a
// newer one, and a tensor without any steps gets none. Not thread safe.
class KnownStatistics {
 public:
  struct Limits {
    size_t steps_of_a_tensor = 1'000;
    size_t all_steps = 200'000;
    // The limit for statistics that agents report unasked. It leaves room for
    // those that users request.
    size_t all_reported_steps = 150'000;
  };
  enum class Source {
    // Part of a hit, which the journal records as a whole.
    kHit,
    // Part of the answer to a tensor request.
    kAnswer,
    // Reported by an agent for a watched tensor.
    kReport,
    // The same, but not to be recorded.
    kUnrecordedReport,
  };

  KnownStatistics() : KnownStatistics(Limits()) {}
  explicit KnownStatistics(Limits limits) : limits_(limits) {}

  // The effect of Add, for the journal.
  struct Change {
    bool kept = false;
    // The journal must record these statistics.
    bool record = false;
    // A recorded step of the same tensor that was dropped to make room.
    std::optional<uint64_t> erase_step;
  };
  // Replaces the statistics of that step, if any.
  Change Add(uint32_t rank, graph::NodeIndex node, uint32_t slot, uint64_t step,
             const model::Statistics& statistics, Source source);

  // The newest step. Null if nothing is known.
  const model::StatisticsPoint* Find(uint32_t rank, graph::NodeIndex node,
                                     uint32_t slot) const;
  // All known steps, ascending.
  std::vector<model::StatisticsPoint> History(uint32_t rank,
                                              graph::NodeIndex node,
                                              uint32_t slot) const;

  // The number of steps of all tensors.
  size_t size() const { return size_; }
  uint64_t bytes() const { return size_ * sizeof(Point); }

 private:
  using Key = std::tuple<uint32_t, graph::NodeIndex, uint32_t>;
  struct Point : model::StatisticsPoint {
    bool recorded = false;
  };
  // Ascending by step.
  using Series = boost::circular_buffer<Point>;

  const Limits limits_;
  // No series is empty.
  absl::flat_hash_map<Key, Series> known_;
  size_t size_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_KNOWN_STATISTICS_H_
