#ifndef AGENT_ADAPTERS_PYTORCH_CHANGES_H_
#define AGENT_ADAPTERS_PYTORCH_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/adapters/pytorch/tape.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// Changes of the paused program. Both throw c10::Error or std::exception with a
// reason if they cannot be made. Autograd does not notice them.

// See graphdbg_host.assign.
void AssignValues(const graphdbg_tensor& view, const double* values,
                  size_t count);

// Writes what the tape has copied back to where an op has overwritten it, for
// all ops of the step. Returns the number of storages.
size_t RestoreStep(const Tape::Content& content);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_CHANGES_H_
