// Where the records of each step are, 24 bytes a step.
#ifndef SERVER_RUNS_STEP_INDEX_H_
#define SERVER_RUNS_STEP_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/runs/rank_log.h"

namespace graphdbg::recorded {

struct StepEntry {
  uint64_t step = 0;
  // Positions. A step that was not recorded without a gap has several entries.
  uint64_t first = 0;
  uint64_t count = 0;

  bool operator==(const StepEntry&) const = default;
};

// Steps ascend with positions, so that boundaries are found by a search that
// reads a few records of each step. Cheap to copy, compared with building it.
class StepIndex {
 public:
  // More steps of a rank are not indexed.
  static constexpr size_t kMaxSteps = 20'000'000;

  // Adds what the log has received since the last call, and drops what a ring
  // has overwritten.
  void Update(const RankLog& log);

  // In order of positions.
  std::span<const StepEntry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  // The first and last steps; 0 if there is none.
  uint64_t first_step() const;
  uint64_t last_step() const;
  // The entries of a step; empty if it has none.
  std::span<const StepEntry> Find(uint64_t step) const;
  // The index of the first entry of this step or a later one.
  size_t LowerBound(uint64_t step) const;

 private:
  void Extend(const RankLog& log, Range range);

  std::vector<StepEntry> entries_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_INDEX_H_
