// Hits of conditions that the program tests itself.
#ifndef AGENT_CORE_REPORTED_FINDING_H_
#define AGENT_CORE_REPORTED_FINDING_H_

#include "absl/status/status.h"
#include "agent/core/checker.h"
#include "agent/core/node_table.h"
#include "agent/core/watch_table.h"
#include "graphdbg/agent.h"

namespace graphdbg::agent {

// Adds a hit for each watchpoint with the finding's condition that covers its
// node. They stop the program at the end of the step. INVALID_ARGUMENT for
// unknown nodes and conditions. Any thread.
absl::Status AddReported(const graphdbg_finding& finding,
                         const WatchSnapshot& watch, const NodeTable& nodes,
                         const ExecutionPoint& point, Findings* findings);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_REPORTED_FINDING_H_
