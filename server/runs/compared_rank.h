// The data of one rank that a comparison of runs reads.
#ifndef SERVER_RUNS_COMPARED_RANK_H_
#define SERVER_RUNS_COMPARED_RANK_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/runs/rank_log.h"
#include "server/runs/step_index.h"

namespace graphdbg::recorded {

// Copies, so that the run can be read and followed meanwhile.
struct ComparedRank {
  RankLog log;
  StepIndex index;
  // By the process's id of the node.
  absl::flat_hash_map<uint32_t, std::string> names;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_COMPARED_RANK_H_
