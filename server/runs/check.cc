#include "server/runs/check.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/watch/coverage.h"

namespace graphdbg::recorded {

CheckedNode CheckedNodeOf(const graph::GraphStore& graph,
                          graph::NodeIndex index) {
  const graph::Node& node = graph.node(index);
  CheckedNode to{node.name, node.op_type, node.outputs, nullptr};
  if (const model::SourceLine* source = graph.SourceOf(index)) {
    to.source = std::make_shared<const model::SourceLine>(*source);
  }
  return to;
}

absl::StatusOr<CheckedNodes> CheckedNodes::Find(const graph::GraphStore& graph,
                                                const model::CheckSpec& spec) {
  // Validates the watchpoint and finds its nodes, as for a job.
  watch::WatchTable table(graph);
  ASSIGN_OR_RETURN(const uint32_t id, table.Add(spec.watchpoint));
  const model::Condition& condition = spec.watchpoint.condition;
  ASSIGN_OR_RETURN(conditions::Predicate predicate,
                   conditions::Compile(condition.id, {condition.params,
                                                      condition.text_params}));
  if (predicate.on_execution()) {
    return WithField(
        Error(absl::StatusCode::kInvalidArgument, "invalid_watchpoint",
              absl::StrCat("condition \"", condition.id,
                           "\" cannot be checked over a recording, which has "
                           "the values of tensors")),
        "condition.id");
  }
  auto check = std::make_shared<Check>(
      std::move(predicate), watch::MatcherOf(spec.watchpoint),
      std::make_shared<const model::Condition>(condition));
  return CheckedNodes(std::move(check), std::move(table), id);
}

bool Wants(const model::CheckSpec& spec, uint32_t rank) {
  return conditions::IncludesRank(spec.watchpoint.selection, rank) &&
         (spec.ranks.empty() || std::find(spec.ranks.begin(), spec.ranks.end(),
                                          rank) != spec.ranks.end());
}

void Check::AddTask(uint64_t steps, std::function<void(Check&)> task) {
  Add(steps, [this, task = std::move(task)] { task(*this); });
}

void Check::AddHit(model::CheckHit hit) {
  absl::MutexLock lock(&mu_);
  ++hit_count_;
  if (hits_.size() < kMaxHits) hits_.push_back(std::move(hit));
}

model::CheckReport Check::Report() const {
  model::CheckReport report = Progress();
  report.not_recorded = not_recorded_;
  {
    absl::MutexLock lock(&mu_);
    report.hits = hits_;
    report.hit_count = hit_count_;
  }
  std::sort(report.hits.begin(), report.hits.end(),
            [](const model::CheckHit& a, const model::CheckHit& b) {
              return std::tie(a.hit.step, a.hit.order, a.hit.rank) <
                     std::tie(b.hit.step, b.hit.order, b.hit.rank);
            });
  uint64_t id = 0;
  for (model::CheckHit& each : report.hits) each.hit.id = ++id;
  return report;
}

}  // namespace graphdbg::recorded
