// Which gradients an optimizer's ops and the parameters depend on.
#ifndef SERVER_RUNS_UPDATES_H_
#define SERVER_RUNS_UPDATES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "server/runs/compared_rank.h"

namespace graphdbg::recorded {

// The part of a graph that updates parameters, by ids of nodes.
struct Updates {
  // By the node of a parameter's gradient: the parameter.
  absl::flat_hash_map<uint32_t, uint32_t> parameter_of;
  // The nodes of the gradients by which a parameter, or what an optimizer's op
  // returns, is changed. Ops of the optimizer that are connected to each other
  // have those of all of them: one that only multiplies a state by a constant
  // reads no gradient itself.
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> gradients_of;
  // Ops of optimizers that divide a gradient by its size, as Adam does.
  absl::flat_hash_set<uint32_t> adaptive;
};

Updates FindUpdates(const ComparedNodes& nodes);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_UPDATES_H_
