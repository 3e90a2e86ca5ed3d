// The data of one rank that a comparison of runs reads.
#ifndef SERVER_RUNS_COMPARED_RANK_H_
#define SERVER_RUNS_COMPARED_RANK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/agent_ids.h"
#include "server/graph/graph_store.h"
#include "server/runs/rank_log.h"
#include "server/runs/step_index.h"

namespace graphdbg::recorded {

// The facts about a node that a comparison needs. Ids are the process's own.
struct ComparedNode {
  struct Input {
    uint32_t node = 0;
    uint32_t slot = 0;
  };

  std::string name;
  model::NodeKind kind = model::NodeKind::kOp;
  std::string op_type;
  model::Category category = model::Category::kOther;
  // The tensors that it reads and that the rank has reported, in order.
  std::vector<Input> inputs;
  std::vector<model::Output> outputs;
  // The line of the user's code that executes it; empty if it is not known.
  std::string text;
  // The place of that line, as FILE:LINE, of an op that changes its arguments
  // in place; of others empty.
  std::string place;
  std::map<std::string, std::string> attributes;
  // As of graph::Node.
  uint64_t order = 0;
  uint64_t first_step = 0;
  // The node of the forward pass, or the parameter, to which a node of the
  // backward pass belongs; 0 if there is none.
  uint32_t forward = 0;
};

// By id.
using ComparedNodes = absl::flat_hash_map<uint32_t, ComparedNode>;

// Copies, so that the run can be read and followed meanwhile.
struct ComparedRank {
  RankLog log;
  StepIndex index;
  ComparedNodes nodes;
};

// Whether the op changes its first arguments, as aten::mul_ does.
bool IsInPlace(const std::string& op_type);

// The nodes that a rank has reported.
ComparedNodes CopyNodes(const graph::GraphStore& graph,
                        const graph::AgentIds& ids);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_COMPARED_RANK_H_
