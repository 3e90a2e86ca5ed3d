// An agent's report about the graph, as decoded and validated by the protocol
// that received it.
#ifndef SERVER_GRAPH_NODE_RECORD_H_
#define SERVER_GRAPH_NODE_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/graph/digest.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"

namespace graphdbg::graph {

// A tensor that a node reads, by the agent's own node ids.
struct InputRecord {
  uint32_t node_id = 0;
  uint32_t slot = 0;
  // Orders execution and carries no tensor.
  bool control = false;
};

struct NodeRecord {
  // Dense from 1 within one agent.
  uint32_t id = 0;
  // Full name: non-empty segments joined by "/".
  std::string name;
  model::NodeKind kind = model::NodeKind::kOp;
  std::string op_type;
  model::Category category = model::Category::kOther;
  std::vector<InputRecord> inputs;
  std::vector<model::Output> outputs;
  // Innermost frame first.
  std::vector<model::SourceLine> stack;
  std::map<std::string, std::string> attributes;
  // Position in the execution order of a step. 0: the node does not execute.
  uint64_t order = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  // For a backward op, the agent's id of its forward op; otherwise 0.
  uint32_t forward_node_id = 0;
  // The agent's digest of all this, except for ids and `last_step`.
  Digest digest = 0;
};

// A file of the user's code, with the agent's digest of its text.
struct FileRecord {
  std::string file;
  std::string text;
  Digest digest = 0;
};

struct GraphPatch {
  // Empty: the job's main graph.
  std::string graph;
  std::vector<NodeRecord> nodes;
  // Class names of module scopes, by scope name.
  std::map<std::string, std::string> scope_types;
  // Ids of nodes that were reported before, by the step in which they last
  // executed.
  std::map<uint64_t, std::vector<uint32_t>> seen;
  std::vector<FileRecord> files;

  // False if the patch contains only `seen`.
  bool changes_graph() const {
    return !nodes.empty() || !scope_types.empty() || !files.empty();
  }
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_NODE_RECORD_H_
