#include "server/runs/run_overview.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/runs/run_info.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {
namespace {

using jobs::OverviewRole;
using jobs::OverviewTable;

std::optional<OverviewRole> RoleOf(const std::string& collection) {
  if (collection == "losses") return OverviewRole::kLoss;
  if (collection == "layers") return OverviewRole::kActivation;
  if (collection == "gradients") return OverviewRole::kGradient;
  if (collection == "weights" || collection == "biases") {
    return OverviewRole::kWeight;
  }
  return std::nullopt;
}

float Float(double value) {
  return std::isnan(value) ? 0 : static_cast<float>(value);
}

jobs::OverviewTensor TensorOf(const runs::StatisticsFields& from,
                              OverviewRole role) {
  jobs::OverviewTensor to;
  to.role = role;
  to.count = to.measured = from.count;
  to.nan_count = from.nan_count;
  to.inf_count = from.pos_inf_count + from.neg_inf_count;
  to.zero_count = from.zero_count;
  to.mean = Float(from.mean);
  to.abs_mean = Float(from.abs_mean);
  to.min = Float(from.min);
  to.max = Float(from.max);
  to.deviation = Float(std::sqrt(from.variance));
  to.l2 = Float(from.l2);
  return to;
}

std::optional<float> ChangeOf(const runs::ChangeFields& change) {
  if (change.previous_step == 0 || !(change.previous_l2 > 0)) {
    return std::nullopt;
  }
  return static_cast<float>(change.change_l2 / change.previous_l2);
}

}  // namespace

RunOverview::Roles RunOverview::ReadRoles(RankData& rank) {
  Roles roles;
  const auto collections = ParseCollections(rank.ReadCollections());
  // A loss that is also the result of a module is a loss.
  for (const char* name :
       {"losses", "gradients", "weights", "biases", "layers"}) {
    const auto collection = collections.find(name);
    if (collection == collections.end()) continue;
    for (const TensorKey& key : collection->second) {
      roles.emplace(key, *RoleOf(name));
    }
  }
  return roles;
}

const OverviewTable& RunOverview::Update(RankData& rank,
                                         const graph::GraphStore& graph) {
  const auto entries = rank.index().entries();
  const jobs::OpTimeTable& op_times = rank.ReadOpTimes();
  // Steps whose ops were timed are there in any case.
  constexpr size_t kMaxEven =
      OverviewTable::kMaxSteps - jobs::OpTimeTable::kMaxThinnedOut;
  uint64_t stride = stride_;
  while (entries.size() / stride >= kMaxEven) stride *= 2;
  if (stride != stride_) {
    stride_ = stride;
    table_ = OverviewTable();
    next_ = 0;
  }
  const size_t begin = rank.index().LowerBound(next_);
  // The last step may not have ended.
  const size_t end =
      entries.size() - (rank.alive() && !entries.empty() ? 1 : 0);
  if (begin >= end) return table_;
  roles_ = ReadRoles(rank);
  for (size_t i = begin; i < end; ++i) {
    next_ = entries[i].step + 1;
    const uint64_t step = entries[i].step;
    const bool is_first = i == 0 || entries[i - 1].step != step;
    const jobs::OpTimeTable::Step* const times = op_times.Find(step);
    if (is_first && (i % stride_ == 0 || times != nullptr)) {
      AddStep(rank, graph, step, times);
    }
  }
  return table_;
}

void RunOverview::AddStep(const RankData& rank, const graph::GraphStore& graph,
                          uint64_t step, const jobs::OpTimeTable::Step* times) {
  model::OverviewStep description;
  description.step = step;
  uint64_t begin = 0;
  uint8_t mode = 0;
  // In the order in which they were appended first.
  std::vector<OverviewTable::NamedTensor> tensors;
  absl::flat_hash_map<TensorKey, size_t> places;
  for (const runs::Record& record :
       ReadRecords(rank.log(), rank.index().Find(step))) {
    const bool marks_step = record.pass == 0;
    if (record.known_kind() == runs::Kind::kBegin && marks_step) {
      mode = record.mode;
      begin = record.mark.monotonic_ns;
      description.unix_nano = static_cast<int64_t>(record.mark.unix_ns);
    } else if (record.known_kind() == runs::Kind::kEnd && marks_step) {
      description.duration_ns = record.mark.monotonic_ns - begin;
      description.measuring_ns = record.mark.measuring_ns;
    }
    const auto role = roles_.find(KeyOf(record));
    // Evaluations within the step have other inputs.
    if (role == roles_.end() || record.mode != mode) continue;
    const graph::NodeIndex node = rank.NodeOf(record.node);
    if (node == graph::kNoNode) continue;
    if (record.known_kind() == runs::Kind::kStatistics) {
      const auto [place, is_new] =
          places.try_emplace(KeyOf(record), tensors.size());
      if (is_new) tensors.push_back({graph.node(node).name, {}});
      tensors[place->second].tensor = TensorOf(record.statistics, role->second);
    } else if (record.known_kind() == runs::Kind::kChange) {
      const auto place = places.find(KeyOf(record));
      if (place == places.end()) continue;
      tensors[place->second].tensor.change = ChangeOf(record.change);
    }
  }
  description.mode = std::string(runs::ToString(static_cast<runs::Mode>(mode)));
  std::vector<OverviewTable::NamedOp> ops;
  if (times != nullptr) {
    for (const jobs::OpTimeTable::Op& op : times->ops) {
      ops.push_back({graph.node(op.node).name, op.duration_ns});
    }
  }
  table_.Add(std::move(description), tensors, ops);
}

}  // namespace graphdbg::recorded
