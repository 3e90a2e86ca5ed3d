// Whether a watchpoint makes sense.
#ifndef SERVER_WATCH_VALIDATION_H_
#define SERVER_WATCH_VALIDATION_H_

#include "absl/status/status.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/watch.h"

namespace graphdbg::watch {

// INVALID_ARGUMENT with the wrong field named through WithField:
// "condition.id", "condition.params.value", "nodes[0]". Nodes must be known
// and of the kind that the condition is about; scopes and patterns may be about
// what is still to come.
absl::Status ValidateSpec(const model::WatchpointSpec& spec,
                          const graph::GraphStore& graph);

// The same, whatever the condition's parameters are.
absl::Status ValidateSelection(const model::WatchpointSpec& spec,
                               const graph::GraphStore& graph);

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_VALIDATION_H_
