// The known statistics of a job that agents report to.
#ifndef SERVER_JOBS_LIVE_TENSORS_H_
#define SERVER_JOBS_LIVE_TENSORS_H_

#include <optional>
#include <vector>

#include "server/jobs/job_state_machine.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/tensor_catalog.h"

namespace graphdbg::jobs {

class LiveTensors final : public KnownTensors {
 public:
  // Both outlive this.
  LiveTensors(const JobStateMachine& machine, const KnownStatistics& known)
      : machine_(machine), known_(known) {}

  absl::Status CheckRank(uint32_t rank) const override {
    return machine_.CheckRank(rank);
  }
  std::optional<model::StatisticsPoint> Newest(uint32_t rank,
                                               graph::NodeIndex node,
                                               uint32_t slot) const override {
    const model::StatisticsPoint* newest = known_.Find(rank, node, slot);
    return newest == nullptr ? std::nullopt : std::optional(*newest);
  }
  std::vector<model::StatisticsPoint> History(uint32_t rank,
                                              graph::NodeIndex node,
                                              uint32_t slot) const override {
    return known_.History(rank, node, slot);
  }

 private:
  const JobStateMachine& machine_;
  const KnownStatistics& known_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_LIVE_TENSORS_H_
