// Prepares a check of rules over the records of a run.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/runs/check.h"
#include "server/runs/recording.h"
#include "server/runs/rule_check.h"
#include "server/runs/rule_selection.h"
#include "server/runs/rule_task.h"

namespace graphdbg::recorded {
namespace {

RuleRank CopyOf(const RankData& rank, const model::CheckSpec& spec) {
  RuleRank copy{rank.number(), rank.log(), {}, {}};
  for (const StepEntry& entry : rank.index().entries()) {
    if (entry.step < spec.from || entry.step > spec.to) continue;
    copy.entries.push_back(entry);
  }
  for (const auto& [process_id, index] : rank.ids().nodes) {
    if (process_id >= copy.nodes.size()) {
      copy.nodes.resize(process_id + 1, graph::kNoNode);
    }
    copy.nodes[process_id] = index;
  }
  return copy;
}

}  // namespace

absl::StatusOr<std::shared_ptr<RuleCheck>> Recording::PrepareRules(
    const model::CheckSpec& spec) {
  Load();
  ASSIGN_OR_RETURN(auto check, RuleCheck::Compile(spec.rules));
  ASSIGN_OR_RETURN(SelectedTensors selected,
                   SelectedTensors::Find(graph_, Collections(), spec.rules));
  for (const uint32_t rank : spec.ranks) {
    RETURN_IF_ERROR(FindRank(rank).status());
  }
  auto tensors = std::make_shared<const SelectedTensors>(std::move(selected));
  // The ranks of each task.
  std::vector<std::vector<RuleRank>> tasks;
  for (const auto& [number, rank] : ranks_) {
    if (!Wants(spec, number)) continue;
    if (tasks.empty() || !check->joins_ranks()) tasks.emplace_back();
    tasks.back().push_back(CopyOf(*rank, spec));
  }
  for (std::vector<RuleRank>& ranks : tasks) {
    uint64_t steps = 0;
    for (const RuleRank& rank : ranks) steps += rank.steps();
    auto shared = std::make_shared<std::vector<RuleRank>>(std::move(ranks));
    check->AddTask(steps, [shared, tensors](RuleCheck& running) {
      RuleTask(running, std::move(*shared), tensors).Run();
    });
  }
  return check;
}

}  // namespace graphdbg::recorded
