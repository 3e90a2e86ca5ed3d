// Finds which nodes of two graphs are the same op, where ops were inserted,
// removed or renamed. agent/python/graphdbg/runs/node_alignment.py does the
// same.
//
// Nodes are put into order of execution. Those with the same name, op type,
// shapes, line of code, and ops before and behind them are certain, and so are
// those that were given the other's name. Between two certain pairs, the others
// are aligned so that the sum of the scores of all pairs is the largest
// (Needleman and Wunsch 1970): an `add` inserted before another one makes the
// latter `add_1`, and yet it reads and is read by the same ops as before. Nodes
// that are left over and have the same name are pairs, too: an op may have
// moved.
#ifndef SERVER_RUNS_NODE_ALIGNMENT_H_
#define SERVER_RUNS_NODE_ALIGNMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/model/divergence.h"
#include "server/runs/compared_rank.h"

namespace graphdbg::recorded {

struct NodeAlignment {
  // By the id there, for nodes that are not the one with their name here: the
  // id here, absent if there is no such node.
  absl::flat_hash_map<uint32_t, std::optional<uint32_t>> here_of;
  // The names that differ, in order of those here.
  std::vector<model::InferredRenaming> renamings;
};

// `name_there` returns what a node here is called in the other run.
NodeAlignment AlignNodes(
    const ComparedNodes& here, const ComparedNodes& there,
    const std::function<std::string(const std::string&)>& name_there);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_NODE_ALIGNMENT_H_
