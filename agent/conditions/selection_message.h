// Selections of watchpoints on the wire, for the agent and for the server.
#ifndef AGENT_CONDITIONS_SELECTION_MESSAGE_H_
#define AGENT_CONDITIONS_SELECTION_MESSAGE_H_

#include "agent/conditions/selection.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::conditions {

NodeSelection FromMessage(const v1::NodeSelection& message);
v1::NodeSelection ToMessage(const NodeSelection& selection);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTION_MESSAGE_H_
