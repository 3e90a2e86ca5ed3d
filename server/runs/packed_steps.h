// The steps that `graphdbg pack` has moved from a run's log into Parquet, which
// the server does not read.
#ifndef SERVER_RUNS_PACKED_STEPS_H_
#define SERVER_RUNS_PACKED_STEPS_H_

#include <cstdint>
#include <optional>

#include "server/runs/files.h"

namespace graphdbg::recorded {

// Steps, both inclusive. Step 0, to which holes and values from before the
// first step belong, counts as step 1.
struct PackedSteps {
  uint64_t first = 0;
  uint64_t last = 0;
};

// The steps of a rank by the names of its files, which are below `records`;
// absent if there are none.
std::optional<PackedSteps> FindPackedSteps(const Folder& records,
                                           uint32_t rank);

// The steps of `packed` within [from, to] that a log from step `first` to step
// `last` does not have; absent if there are none. An empty log has `last` 0.
std::optional<PackedSteps> WithoutLog(const PackedSteps& packed,
                                      const PackedSteps& log, uint64_t from,
                                      uint64_t to);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_PACKED_STEPS_H_
