#include "server/jobs/op_time_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
void OpTimeTable::Add(Step step) {
  if (!steps_.empty() && step.step < steps_.back().step) {
    steps_.clear();
    added_ = 0;
    stride_ = 1;
  }
  if (!steps_.empty() && step.step == steps_.back().step) {
    steps_.pop_back();
  } else if (added_++ % stride_ != 0) {
    return;
  }
  std::stable_sort(
      step.ops.begin(), step.ops.end(),
      [](const Op& a, const Op& b) { return a.start_ns < b.start_ns; });
  steps_.push_back(std::move(step));
  if (thins_out_) {
    if (steps_.size() > kMaxThinnedOut) ThinOut();
  } else if (steps_.size() > kMaxNewest) {
    steps_.pop_front();
  }
}

void OpTimeTable::ThinOut() {
  std::deque<Step> kept;
  for (size_t i = 0; i < steps_.size(); i += 2) {
    kept.push_back(std::move(steps_[i]));
  }
  steps_ = std::move(kept);
  stride_ *= 2;
}

absl::StatusOr<model::OverviewOps> OpTimeTable::OpsOf(
    std::optional<uint64_t> step, const graph::GraphStore& graph) const {
  model::OverviewOps found;
  for (const Step& each : steps_) found.steps.push_back(each.step);
  if (steps_.empty() && !step) return found;
  const Step* const place = step ? Find(*step) : &steps_.back();
  if (place == nullptr) {
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

const OpTimeTable::Step* OpTimeTable::Find(uint64_t step) const {
  const auto place =
      std::find_if(steps_.begin(), steps_.end(),
                   [&](const Step& each) { return each.step == step; });
  return place == steps_.end() ? nullptr : &*place;
}

uint64_t OpTimeTable::bytes() const {
  uint64_t ops = 0;
  for (const Step& step : steps_) ops += step.ops.capacity();
  return ops * sizeof(Op);
}

}  // namespace graphdbg::jobs
