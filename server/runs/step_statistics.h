// The recorded statistics of a step.
#ifndef SERVER_RUNS_STEP_STATISTICS_H_
#define SERVER_RUNS_STEP_STATISTICS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace graphdbg::recorded {

// NOT_FOUND "unknown_step".
absl::Status UnknownStep(uint64_t step, uint32_t rank, uint64_t first,
                         uint64_t last);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_STATISTICS_H_
