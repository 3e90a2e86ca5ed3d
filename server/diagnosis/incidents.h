// Groups hits into incidents: hits that have one cause.
#ifndef SERVER_DIAGNOSIS_INCIDENTS_H_
#define SERVER_DIAGNOSIS_INCIDENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "server/graph/graph_store.h"
#include "server/model/diagnosis.h"
#include "server/watch/hit_log.h"

namespace graphdbg::diagnosis {

// Where NaN and infinities begin is an incident. Further hits by such values
// belong to
//
// - the incident at the same node, in this step or an earlier one;
// - that of a node whose output the op reads, if that had a hit in this step;
// - that of the rank which has sent the values;
// - for a weight, that of the optimizer's ops which have updated it;
// - the newest one on the rank in this step, unless it is such a weight.
//
// Weights that are NaN carry an incident to the next step.
//
// Hits of one watchpoint for gradients that vanish or explode are one incident
// along the gradients that are computed of one another in a step. It begins at
// the first of them in backward order.
//
// Other hits do not spread. They form an incident for each node.
//
// Built from all stored hits in execution order. Immutable; any thread.
class Incidents {
 public:
  // The node that has sent the values of a hit which a collective has received
  // from another rank. kNoNode: none has.
  using SenderOf = std::function<graph::NodeIndex(const model::Hit&)>;
  // Sets `sent_by` of a hit.
  using Complete = std::function<void(model::Hit&)>;

  Incidents(const graph::GraphStore& graph, const watch::HitLog& hits,
            const SenderOf& sender_of);

  // The first ones, with their diagnoses. `graph` and `hits` must be those that
  // this was built from, to which more may have been added.
  model::IncidentPage Page(const graph::GraphStore& graph,
                           const watch::HitLog& hits, const Complete& complete,
                           size_t limit) const;

  // The id of the incident that a hit belongs to. 0 if it belongs to none: it
  // is absorbed or unknown.
  uint64_t IncidentOf(uint64_t hit) const;

 private:
  struct Group {
    // Ids of hits.
    uint64_t origin = 0;
    uint64_t first_reached = 0;
    graph::NodeIndex node = graph::kNoNode;
    // Of hits at the origin.
    absl::btree_set<std::string> conditions;
    uint32_t first_rank = 0;
    absl::btree_set<uint32_t> ranks;
    uint64_t hit_count = 0;
    absl::flat_hash_set<std::pair<graph::NodeIndex, uint32_t>> reached;
    std::vector<model::StepRange> steps;
  };
  class Builder;

  model::Incident Describe(const Group& group, const graph::GraphStore& graph,
                           const watch::HitLog& hits,
                           const Complete& complete) const;

  std::vector<Group> groups_;
  // The index of each hit's group; absorbed hits have none.
  std::vector<uint32_t> group_of_;
};

}  // namespace graphdbg::diagnosis

#endif  // SERVER_DIAGNOSIS_INCIDENTS_H_
