// The overview of a rank of a recorded run.
#ifndef SERVER_RUNS_RUN_OVERVIEW_H_
#define SERVER_RUNS_RUN_OVERVIEW_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "server/graph/graph_store.h"
#include "server/jobs/op_time_table.h"
#include "server/jobs/overview_table.h"
#include "server/runs/rank_data.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {

// Of a run with more steps than the table keeps, every second, fourth, … step
// is shown, so that the whole run is. Not thread-safe.
class RunOverview {
 public:
  // Adds what was recorded since the last call. Of collections, the predefined
  // ones count: losses, layers, gradients, weights and biases.
  const jobs::OverviewTable& Update(RankData& rank,
                                    const graph::GraphStore& graph);

 private:
  // `times`: null if the step's ops were not timed.
  void AddStep(const RankData& rank, const graph::GraphStore& graph,
               uint64_t step, const jobs::OpTimeTable::Step* times);

  using Roles = absl::flat_hash_map<TensorKey, jobs::OverviewRole>;
  static Roles ReadRoles(RankData& rank);

  Roles roles_;
  jobs::OverviewTable table_;
  // Every how many steps one is shown: a power of two.
  uint64_t stride_ = 1;
  // The first step that was not looked at.
  uint64_t next_ = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RUN_OVERVIEW_H_
