// Walks the records of ranks step by step, and evaluates rules on them.
#ifndef SERVER_RUNS_RULE_TASK_H_
#define SERVER_RUNS_RULE_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/graph_store.h"
#include "server/runs/rank_log.h"
#include "server/runs/rule.h"
#include "server/runs/rule_check.h"
#include "server/runs/rule_selection.h"
#include "server/runs/step_index.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {

// Copies of what rules read of one rank, so that the run can be read and
// followed meanwhile.
struct RuleRank {
  uint32_t rank = 0;
  RankLog log;
  // The entries of the checked steps, in order of positions.
  std::vector<StepEntry> entries;
  // Nodes by the process's ids, which are dense; kNoNode for ids without a
  // node.
  std::vector<graph::NodeIndex> nodes;

  uint64_t steps() const;
};

// Used by one thread at a time.
class RuleTask {
 public:
  // Findings are added to `check`, which must outlive this.
  explicit RuleTask(RuleCheck& check);

  // Evaluates the steps of `ranks`, which follow those of earlier calls. The
  // graph may have grown since then.
  void Run(const std::vector<RuleRank>& ranks,
           std::shared_ptr<const SelectedTensors> tensors);

 private:
  // Identifies a series. Properties that its observations do not have in common
  // have the same number in all series.
  struct SeriesId {
    uint32_t rank;
    graph::NodeIndex node;
    uint32_t slot;
    uint8_t mode;

    bool operator==(const SeriesId&) const = default;
    template <class H>
    friend H AbslHashValue(H h, const SeriesId& id) {
      return H::combine(std::move(h), id.rank, id.node, id.slot, id.mode);
    }
  };
  // The state of one rule.
  struct Progress {
    absl::flat_hash_map<SeriesId, RuleSeries> series;
    // Sums over the observations of the current step.
    absl::flat_hash_map<SeriesId, std::vector<Rule::Sums>> sums;
    // In the current call of Run.
    uint64_t observations = 0;
    uint64_t unknown = 0;
  };
  class StepOfRank;

  void ObserveStep(const RuleRank& rank, std::span<const StepEntry> entries);
  void ObserveTensor(const StepOfRank& step, const runs::Record& record);
  void ObserveMarks(const StepOfRank& step);
  // Evaluates the observations that were gathered from several tensors.
  void FinishStep(uint64_t step);
  void Evaluate(size_t rule, const SeriesId& id, uint64_t step,
                absl::Span<const double> values);
  static SeriesId IdOf(const Rule& rule, uint32_t rank, graph::NodeIndex node,
                       uint32_t slot, uint8_t mode);

  RuleCheck& check_;
  std::shared_ptr<const SelectedTensors> tensors_;
  std::vector<Progress> progress_;
  // One value for each measure of rules.
  std::vector<double> values_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_TASK_H_
