// The statistics of a step as columns, in the format of
// proto/docs/step-statistics.md.
#ifndef SERVER_RUNS_STEP_STATISTICS_H_
#define SERVER_RUNS_STEP_STATISTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/runs/record.h"
#include "server/graph/graph_store.h"

namespace graphdbg::recorded {

struct StatisticsRow {
  // A record of statistics. Its node is not used.
  runs::Record record;
  // Rows of nodes that are not in the main graph are passed over.
  graph::NodeIndex node = graph::kNoNode;
};

std::string StatisticsFile(const graph::GraphStore& graph, uint64_t step,
                           uint32_t rank,
                           const std::vector<StatisticsRow>& rows);

// NOT_FOUND "unknown_step".
absl::Status UnknownStep(uint64_t step, uint32_t rank, uint64_t first,
                         uint64_t last);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_STATISTICS_H_
