// Where a recorded run is read from: a directory in graphdbg's own format, or a
// directory that a framework has dumped. OpenedRun serves any of them.
#ifndef SERVER_RUNS_RUN_SOURCE_H_
#define SERVER_RUNS_RUN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/jobs/op_time_table.h"
#include "server/jobs/overview_table.h"
#include "server/model/neighbours.h"
#include "server/model/run.h"
#include "server/runs/compared_rank.h"
#include "server/watch/hit_log.h"

namespace graphdbg::recorded {

class Check;
class RuleCheck;
struct FollowedSteps;
struct NewSteps;

// Not thread safe.
class RunSource {
 public:
  virtual ~RunSource() = default;

  // Looks for what was written since the last call. Cheap: graph, hits and the
  // index of steps are read when they are needed.
  virtual void Refresh() = 0;
  // Whether the run may grow.
  virtual bool alive() const = 0;

  // Without last_ops and user_changes.
  virtual model::Run Describe() = 0;
  // See model::Run::last_ops.
  virtual std::vector<model::LastOp> LastOps() { return {}; }
  // See model::Run::user_changes.
  virtual std::vector<model::UserChange> UserChanges() { return {}; }

  // --- The graph and its hits -----------------------------------------------
  virtual const graph::GraphStore& graph() = 0;
  virtual const graph::Annotations& annotations() const = 0;
  virtual const watch::HitLog& hits() = 0;

  // --- Steps ----------------------------------------------------------------
  // NOT_FOUND "unknown_rank"; INVALID_ARGUMENT "invalid_cursor".
  virtual absl::StatusOr<model::StepPage> Steps(
      const model::StepQuery& query) = 0;
  virtual std::vector<model::Collection> Collections() = 0;
  // The file of proto/docs/step-statistics.md. NOT_FOUND "unknown_rank" or
  // "unknown_step".
  virtual absl::StatusOr<std::string> Statistics(
      const model::StatisticsQuery& query) = 0;

  // --- Tensors --------------------------------------------------------------
  // `step` is the step that the user looks at; absent: the last one.
  using AtStep = std::optional<uint64_t>;

  virtual absl::StatusOr<std::vector<model::TensorSummary>> Tensors(
      const std::string& node, uint32_t rank, AtStep step) = 0;
  virtual absl::StatusOr<model::Neighbours> Around(
      const model::NeighbourQuery& query, AtStep step) = 0;
  virtual absl::StatusOr<model::RunHistory> History(
      const model::RunHistoryQuery& query) = 0;
  // Of a rank. Valid until the next call; empty for runs that have none.
  // NOT_FOUND "unknown_rank".
  virtual absl::StatusOr<const jobs::OverviewTable*> Overview(uint32_t) {
    static const auto* const kEmpty = new jobs::OverviewTable();
    return kEmpty;
  }
  // Of a rank. Valid until the next call; empty for runs that have none.
  // NOT_FOUND "unknown_rank".
  virtual absl::StatusOr<const jobs::OpTimeTable*> OpTimes(uint32_t) {
    static const auto* const kEmpty = new jobs::OpTimeTable();
    return kEmpty;
  }
  // NOT_FOUND "not_recorded" names the nearest step that has the values.
  virtual absl::StatusOr<model::TensorValue> Tensor(
      const model::TensorQuery& query, AtStep step) = 0;

  // Prepares a check of `spec` over everything that was recorded.
  // INVALID_ARGUMENT as for a watchpoint of a job; NOT_FOUND "unknown_rank".
  virtual absl::StatusOr<std::shared_ptr<Check>> PrepareCheck(
      const model::CheckSpec& spec) = 0;
  // Prepares a check of `spec.rules`. INVALID_ARGUMENT names the wrong field;
  // NOT_FOUND "unknown_rank"; UNIMPLEMENTED "no_rules".
  virtual absl::StatusOr<std::shared_ptr<RuleCheck>> PrepareRules(
      const model::CheckSpec& spec);
  // The steps that were completed since the last call with this `followed`, for
  // rules that were compiled before. `together`: the rules compare ranks.
  // Errors as PrepareRules.
  virtual absl::StatusOr<NewSteps> TakeNewSteps(
      const std::vector<model::RuleSpec>& rules, bool together,
      FollowedSteps* followed);
  // The text of findings.jsonl; empty if there is none.
  virtual std::string ReadFindings() const { return ""; }
  // The data that FindDivergence needs. NOT_FOUND "unknown_rank"; UNIMPLEMENTED
  // "not_comparable".
  virtual absl::StatusOr<ComparedRank> CopyForComparison(uint32_t rank) = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RUN_SOURCE_H_
