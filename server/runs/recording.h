// A recorded run, read from its directory.
//
// Everything that was written can be read, whatever killed the process: what
// only the ring has is read from there, and of a damaged file what precedes the
// damage. A run that is being recorded is followed.
#ifndef SERVER_RUNS_RECORDING_H_
#define SERVER_RUNS_RECORDING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/jobs/tensor_catalog.h"
#include "server/model/neighbours.h"
#include "server/model/run.h"
#include "server/runs/files.h"
#include "server/runs/packed_steps.h"
#include "server/runs/rank_data.h"
#include "server/runs/run_info.h"
#include "server/runs/run_overview.h"
#include "server/runs/run_source.h"
#include "server/watch/hit_log.h"

namespace graphdbg::recorded {

// A run in graphdbg's own format. Not thread safe.
class Recording final : public RunSource, private graph::Annotations {
 public:
  // `memory` may be null.
  Recording(std::string id, Folder folder,
            std::shared_ptr<MemoryBudget> memory);

  // --- RunSource ------------------------------------------------------------
  void Refresh() override;
  bool alive() const override;
  model::Run Describe() override;
  std::vector<model::LastOp> LastOps() override;
  std::vector<model::UserChange> UserChanges() override;
  const graph::GraphStore& graph() override;
  const graph::Annotations& annotations() const override { return *this; }
  const watch::HitLog& hits() override;
  absl::StatusOr<model::StepPage> Steps(const model::StepQuery& query) override;
  std::vector<model::Collection> Collections() override;
  absl::StatusOr<std::string> Statistics(
      const model::StatisticsQuery& query) override;
  absl::StatusOr<std::vector<model::TensorSummary>> Tensors(
      const std::string& node, uint32_t rank, AtStep step) override;
  absl::StatusOr<model::Neighbours> Around(const model::NeighbourQuery& query,
                                           AtStep step) override;
  absl::StatusOr<model::RunHistory> History(
      const model::RunHistoryQuery& query) override;
  absl::StatusOr<const jobs::OverviewTable*> Overview(uint32_t rank) override;
  absl::StatusOr<const jobs::OpTimeTable*> OpTimes(uint32_t rank) override;
  absl::StatusOr<model::TensorValue> Tensor(const model::TensorQuery& query,
                                            AtStep step) override;
  absl::StatusOr<std::shared_ptr<Check>> PrepareCheck(
      const model::CheckSpec& spec) override;
  absl::StatusOr<std::shared_ptr<RuleCheck>> PrepareRules(
      const model::CheckSpec& spec) override;
  absl::StatusOr<NewSteps> TakeNewSteps(
      const std::vector<model::RuleSpec>& rules, bool together,
      FollowedSteps* followed) override;
  std::string ReadFindings() const override;
  absl::StatusOr<ComparedRank> CopyForComparison(uint32_t rank) override;

 private:
  class AtStepTensors;

  // --- graph::Annotations ---------------------------------------------------
  uint64_t HitsOf(graph::Child child) const override;
  model::Watched WatchedOf(graph::Child) const override {
    return model::Watched::kNone;
  }
  bool Covers(uint32_t, graph::NodeIndex) const override { return false; }

  model::LastOp DescribeOp(const RankData& rank, const runs::LastOp& op);
  void FindRanks();
  void FindPacked();
  // The steps of a rank within [from, to] that are only in Parquet.
  std::optional<PackedSteps> PackedAway(const RankData& rank, uint64_t from,
                                        uint64_t to) const;
  // FAILED_PRECONDITION "packed" if a check is about such steps.
  absl::Status RefusePacked(const model::CheckSpec& spec) const;
  // NOT_FOUND "unknown_rank".
  absl::StatusOr<RankData*> FindRank(uint32_t rank);
  // Brings graph and indices of all ranks up to date.
  void Load();
  void ReadRunInfo();
  model::JobState State() const;
  std::vector<model::Rank> DescribeRanks();

  const std::string id_;
  const Folder folder_;
  const std::shared_ptr<MemoryBudget> memory_;
  RunInfo info_;
  bool has_info_ = false;
  // By number.
  std::map<uint32_t, std::unique_ptr<RankData>> ranks_;
  std::map<uint32_t, PackedSteps> packed_;
  std::map<uint32_t, RunOverview> overviews_;
  graph::GraphStore graph_;
  watch::HitLog hits_{graph_};
  MemoryBudget::Reservation graph_memory_;
  // The parts that have been read since the last Refresh().
  bool graph_fresh_ = false;
  bool hits_fresh_ = false;
  std::map<std::string, std::string> damage_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RECORDING_H_
