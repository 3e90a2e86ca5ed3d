#include "server/jobs/op_time_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/error.h"

namespace graphdbg::jobs {

void OpTimeTable::Add(Step step) {
  if (!steps_.empty() && step.step < steps_.back().step) steps_.clear();
  if (!steps_.empty() && step.step == steps_.back().step) steps_.pop_back();
  std::stable_sort(
      step.ops.begin(), step.ops.end(),
      [](const Op& a, const Op& b) { return a.start_ns < b.start_ns; });
  steps_.push_back(std::move(step));
  if (steps_.size() > kMaxSteps) steps_.pop_front();
}

absl::StatusOr<model::OverviewOps> OpTimeTable::OpsOf(
    std::optional<uint64_t> step, const graph::GraphStore& graph) const {
  model::OverviewOps found;
  for (const Step& each : steps_) found.steps.push_back(each.step);
  if (steps_.empty() && !step) return found;
  const auto place =
      step ? std::find_if(steps_.begin(), steps_.end(),
                          [&](const Step& each) { return each.step == *step; })
           : std::prev(steps_.end());
  if (place == steps_.end()) {
    return Error(
        absl::StatusCode::kNotFound, "unknown_step",
        absl::StrCat(
            "the ops of step ", *step, " were not timed, or are no ",
            "longer kept; there are: ",
            steps_.empty() ? "none" : absl::StrJoin(found.steps, ", ")));
  }
  found.step = place->step;
  found.duration_ns = place->duration_ns;
  found.left_out = place->left_out;
  found.ops.reserve(place->ops.size());
  for (const Op& op : place->ops) {
    const graph::Node& node = graph.node(op.node);
    found.ops.push_back(
        {node.name, node.op_type, op.thread, op.start_ns, op.duration_ns});
  }
  return found;
}

uint64_t OpTimeTable::bytes() const {
  uint64_t ops = 0;
  for (const Step& step : steps_) ops += step.ops.capacity();
  return ops * sizeof(Op);
}

}  // namespace graphdbg::jobs
