// How an op is called differently by two runs: what the differences of its
// results may come from. agent/python/graphdbg/runs/call_differences.py finds
// the same.
#ifndef SERVER_RUNS_CALL_DIFFERENCES_H_
#define SERVER_RUNS_CALL_DIFFERENCES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/model/divergence.h"
#include "server/runs/compared_rank.h"

namespace graphdbg::recorded {

// A side of the comparison.
struct CallSide {
  const ComparedNodes& nodes;
  // The op's node.
  uint32_t op = 0;
  // Returns the name of a node that both sides have.
  std::function<std::string(uint32_t)> shared_name;
};

// In order: attributes by name, then arguments.
std::vector<model::CallDifference> CallDifferences(const CallSide& here,
                                                   const CallSide& there);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_CALL_DIFFERENCES_H_
