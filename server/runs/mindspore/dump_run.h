// A directory that MindSpore's dump has written, as a recorded run.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_RUN_H_
#define SERVER_RUNS_MINDSPORE_DUMP_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/runs/files.h"
#include "server/runs/mindspore/dump_layout.h"
#include "server/runs/mindspore/dump_rank.h"
#include "server/runs/run_source.h"
#include "server/watch/hit_log.h"

namespace graphdbg::dumps {

// Directories are listed when the run is first looked at, and values are read
// when they are asked for. Not thread safe.
class DumpRun final : public recorded::RunSource, private graph::Annotations {
 public:
  // `memory` may be null.
  DumpRun(std::string id, recorded::Folder folder,
          std::shared_ptr<MemoryBudget> memory);

  void Refresh() override;
  // A dump does not reveal whether it will grow.
  bool alive() const override { return false; }
  model::Run Describe() override;
  const graph::GraphStore& graph() override;
  const graph::Annotations& annotations() const override { return *this; }
  const watch::HitLog& hits() override;
  absl::StatusOr<model::StepPage> Steps(const model::StepQuery& query) override;
  // Dumps have none.
  std::vector<model::Collection> Collections() override { return {}; }
  absl::StatusOr<std::string> Statistics(
      const model::StatisticsQuery& query) override;
  absl::StatusOr<std::vector<model::TensorSummary>> Tensors(
      const std::string& node, uint32_t rank, AtStep step) override;
  absl::StatusOr<model::Neighbours> Around(const model::NeighbourQuery& query,
                                           AtStep step) override;
  absl::StatusOr<model::RunHistory> History(
      const model::RunHistoryQuery& query) override;
  absl::StatusOr<model::TensorValue> Tensor(const model::TensorQuery& query,
                                            AtStep step) override;
  absl::StatusOr<std::shared_ptr<recorded::Check>> PrepareCheck(
      const model::CheckSpec& spec) override;
  absl::StatusOr<recorded::ComparedRank> CopyForComparison(
      uint32_t rank) override;

 private:
  class AtStepTensors;

  uint64_t HitsOf(graph::Child child) const override {
    return hits_.CountOf(child);
  }
  model::Watched WatchedOf(graph::Child) const override {
    return model::Watched::kNone;
  }
  bool Covers(uint32_t, graph::NodeIndex) const override { return false; }

  // Lists the files, if that was not done since the last Refresh().
  void Load();
  // NOT_FOUND "unknown_rank".
  absl::StatusOr<DumpRank*> FindRank(uint32_t rank);
  // Adds hits for what the overflow detection of the device has found.
  void ReadOverflows(DumpRank& rank);

  const std::string id_;
  const recorded::Folder folder_;
  const std::shared_ptr<MemoryBudget> memory_;
  Layout layout_;
  bool loaded_ = false;
  // By number.
  std::map<uint32_t, std::unique_ptr<DumpRank>> ranks_;
  graph::GraphStore graph_;
  watch::HitLog hits_{graph_};
  MemoryBudget::Reservation graph_memory_;
  // Steps whose overflows have been read, by rank.
  std::map<uint32_t, uint64_t> overflows_read_;
};

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_RUN_H_
