// Changes of the paused program that the user orders.
#ifndef AGENT_CORE_CHANGES_H_
#define AGENT_CORE_CHANGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/devices.h"
#include "agent/core/host.h"
#include "agent/tensor/slice.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// Both are called while the program is held, and return what was done, for
// people. Reason of errors: "cannot_change".

// Writes to a slice that is within the tensor: one value to all elements, or as
// many values as there are, row-major. `devices`: where values are read that
// are described; null if they must not be.
absl::StatusOr<std::string> AssignSlice(const Host& host, Devices* devices,
                                        const graphdbg_tensor& tensor,
                                        const Slice& slice,
                                        const std::vector<double>& values);

// A change of no tensor.
absl::StatusOr<std::string> ChangeTraining(const Host& host,
                                           const v1::ChangeRequest& request);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CHANGES_H_
