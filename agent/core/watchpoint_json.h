// The JSON form of a watchpoint in the settings of a recording.
#ifndef AGENT_CORE_WATCHPOINT_JSON_H_
#define AGENT_CORE_WATCHPOINT_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

// Reads a condition in the form of --break-on, or an object with a condition
// and a selection of nodes. INVALID_ARGUMENT names the key that is wrong.
absl::Status ReadWatchpointJson(const nlohmann::ordered_json& json,
                                v1::SetWatchpoint* watchpoint);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_WATCHPOINT_JSON_H_
