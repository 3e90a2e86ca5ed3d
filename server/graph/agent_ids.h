// Maps the node ids of one agent to indices in the job's graph.
#ifndef SERVER_GRAPH_AGENT_IDS_H_
#define SERVER_GRAPH_AGENT_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/node_ids.h"

namespace graphdbg::graph {

// An input whose producer the agent has not reported yet.
struct WaitingInput {
  NodeIndex consumer = kNoNode;
  uint32_t position = 0;
  // Node::inputs_revision of the consumer when the input was reported.
  uint32_t revision = 0;
};

// One per agent process and graph store. Filled by GraphStore::Apply.
struct AgentIds {
  NodeIds nodes;
  absl::flat_hash_map<uint32_t, std::vector<WaitingInput>> waiting;

  // kNoNode if the agent has not reported the node.
  NodeIndex Find(uint32_t agent_id) const { return nodes.Find(agent_id); }
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_AGENT_IDS_H_
