// Cursors of lists of steps.
#ifndef SERVER_RUNS_STEP_CURSOR_H_
#define SERVER_RUNS_STEP_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace graphdbg::recorded {

// The step at which the page of this cursor begins; 0 for the first page.
// INVALID_ARGUMENT "invalid_cursor".
absl::StatusOr<uint64_t> FirstStepOf(const std::string& cursor);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_CURSOR_H_
