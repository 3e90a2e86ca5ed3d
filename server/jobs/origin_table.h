// Follows values that are not finite to the rank that sent them.
#ifndef SERVER_JOBS_ORIGIN_TABLE_H_
#define SERVER_JOBS_ORIGIN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "server/graph/graph_store.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/journal.h"
#include "server/jobs/rank.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

// Each rank reports the first tensor of a step that is not finite. If that is
// the result of a collective, the values came from a rank whose first such
// tensor is another one, which was computed earlier in the same step.
//
// On the job's strand only. Keeps the newest steps, and records them.
class OriginTable {
 public:
  static constexpr size_t kMaxSteps = 1'000;

  OriginTable(const graph::GraphStore& graph, const JobRecorder& recorder)
      : graph_(graph), recorder_(recorder) {}

  // Unknown nodes are ignored.
  void Add(const Rank& rank, const OriginReport& report);
  // Adds what was recorded, without recording it again.
  void Restore(const std::vector<SavedOrigin>& origins);

  // Sets `sent_by` of a hit whose values came from another rank.
  void Complete(model::Hit& hit) const;

  // The node of that rank which made the values. kNoNode if they came from no
  // other rank.
  graph::NodeIndex SenderOf(const model::Hit& hit) const;

  // Counts the reports.
  uint64_t version() const { return version_; }

 private:
  struct Path {
    uint32_t rank = 0;
    const SavedOrigin* sender = nullptr;
    // The collective on the rank that has received the values.
    const SavedOrigin* receiver = nullptr;
  };

  // The `sender` is null if there is none.
  Path PathOf(const model::Hit& hit) const;

  const graph::GraphStore& graph_;
  const JobRecorder& recorder_;
  // By step and rank.
  std::map<uint64_t, std::map<uint32_t, SavedOrigin>> steps_;
  uint64_t version_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_ORIGIN_TABLE_H_
