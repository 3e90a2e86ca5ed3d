// The steps that rules which follow a run have not evaluated yet.
#ifndef SERVER_RUNS_NEW_STEPS_H_
#define SERVER_RUNS_NEW_STEPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "server/runs/rule_selection.h"
#include "server/runs/rule_task.h"

namespace graphdbg::recorded {

struct NewSteps {
  // Only complete steps.
  std::vector<RuleRank> ranks;
  std::shared_ptr<const SelectedTensors> tensors;
};

// How far a run has been followed.
struct FollowedSteps {
  // The next step of each rank.
  std::map<uint32_t, uint64_t> next;
  // The selection, and what it was made from.
  std::shared_ptr<const SelectedTensors> tensors;
  uint64_t graph_version = 0;
  uint64_t members = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_NEW_STEPS_H_
