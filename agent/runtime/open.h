// Opens the accelerators that the agent supports.
#ifndef AGENT_RUNTIME_OPEN_H_
#define AGENT_RUNTIME_OPEN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/runtime/accelerator.h"

namespace graphdbg::runtime {

enum class Kind { kCuda, kAscend };

// Returns UNAVAILABLE or the error of the vendor's library.
absl::StatusOr<std::unique_ptr<Accelerator>> OpenAccelerator(Kind kind,
                                                             int ordinal);

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_OPEN_H_
