// Errors that users see. Each has a code, which programs can rely on, and a
// message of one line.
#ifndef AGENT_INJECT_FAILURE_H_
#define AGENT_INJECT_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphdbg::inject {

// Returns an error with a code such as "no_process".
absl::Status Failure(absl::string_view code, absl::string_view message);

// Returns the code of an error; "internal" if it has none.
std::string FailureCode(const absl::Status& status);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_FAILURE_H_
