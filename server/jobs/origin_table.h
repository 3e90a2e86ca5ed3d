// Follows values that are not finite to the rank that sent them.
#ifndef SERVER_JOBS_ORIGIN_TABLE_H_
#define SERVER_JOBS_ORIGIN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/graph/graph_store.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/rank.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

// Each rank reports the first tensor of a step that is not finite. If that is
// the result of a collective, the values came from a rank whose first such
// tensor is another one, which was computed earlier in the same step.
//
// On the job's strand only. Keeps the newest steps.
class OriginTable {
 public:
  static constexpr size_t kMaxSteps = 1'000;

  explicit OriginTable(const graph::GraphStore& graph) : graph_(graph) {}

  // Unknown nodes are ignored.
  void Add(const Rank& rank, const OriginReport& report);

  // Sets `sent_by` of a hit whose values came from another rank.
  void Complete(model::Hit& hit) const;

  // The node of that rank which made the values. kNoNode if they came from no
  // other rank.
  graph::NodeIndex SenderOf(const model::Hit& hit) const;

  // Counts the reports.
  uint64_t version() const { return version_; }

 private:
  struct Origin {
    graph::NodeIndex node = graph::kNoNode;
    uint32_t slot = 0;
    uint64_t order = 0;
    bool received = false;
  };
  struct Path {
    uint32_t rank = 0;
    const Origin* sender = nullptr;
    // The collective on the rank that has received the values.
    const Origin* receiver = nullptr;
  };

  // The `sender` is null if there is none.
  Path PathOf(const model::Hit& hit) const;

  const graph::GraphStore& graph_;
  // By step and rank.
  std::map<uint64_t, std::map<uint32_t, Origin>> steps_;
  uint64_t version_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_ORIGIN_TABLE_H_
