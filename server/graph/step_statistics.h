// The statistics of a step as columns, in the format of
// proto/docs/step-statistics.md.
#ifndef SERVER_GRAPH_STEP_STATISTICS_H_
#define SERVER_GRAPH_STEP_STATISTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/graph/graph_store.h"
#include "server/model/tensor.h"

namespace graphdbg::graph {

// One tensor, as it was when `node` executed.
struct StatisticsRow {
  NodeIndex node = kNoNode;
  uint32_t slot = 0;
  // As in model::RunMode.
  uint8_t mode = 0;
  uint32_t pass = 0;
  uint32_t iteration = 0;
  uint32_t exec_order = 0;
  // As in runs::Flag.
  uint32_t flags = 0;
  uint8_t dtype = 0;
  model::Statistics statistics;
  // 1: not scaled.
  double grad_scale = 1;
};

// Rows of nodes that are not in the main graph are passed over. `complete`: no
// tensor of the step is missing that could have been measured.
std::string StatisticsFile(const GraphStore& store, uint64_t step,
                           uint32_t rank, bool complete,
                           const std::vector<StatisticsRow>& rows);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_STEP_STATISTICS_H_
