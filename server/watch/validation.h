// Validation of watchpoints.
#ifndef SERVER_WATCH_VALIDATION_H_
#define SERVER_WATCH_VALIDATION_H_

#include "absl/status/status.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/watch.h"

namespace graphdbg::watch {

// INVALID_ARGUMENT if the watchpoint is not valid; WithField names the wrong
// field: "condition.id", "condition.params.value", "nodes[0]". Nodes must be
// known and of the condition's target category. Scopes and patterns may match
// nodes that are not known yet.
absl::Status ValidateSpec(const model::WatchpointSpec& spec,
                          const graph::GraphStore& graph);

// Like ValidateSpec, but ignores the parameters of the condition.
absl::Status ValidateSelection(const model::WatchpointSpec& spec,
                               const graph::GraphStore& graph);

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_VALIDATION_H_
