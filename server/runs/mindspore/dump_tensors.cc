// Statistics and values of a dump's tensors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/graph/graph_view.h"
#include "server/graph/step_statistics.h"
#include "server/jobs/tensor_catalog.h"
#include "server/runs/history_buckets.h"
#include "server/runs/mindspore/dump_run.h"
#include "server/runs/step_records.h"
#include "server/runs/step_statistics.h"
#include "server/runs/stored_values.h"

namespace graphdbg::dumps {
namespace {

// Steps before the one that the user looks at, in which the newest statistics
// of a tensor are looked for.
constexpr int kMaxLookBack = 32;
// Values that are read for the statistics in one answer, beyond those that have
// been read before.
constexpr uint64_t kMaxReadBytes = uint64_t{2} << 30;

}  // namespace

// The statistics at the step that the user looks at, or else the newest ones
// before it.
class DumpRun::AtStepTensors final : public jobs::KnownTensors {
 public:
  AtStepTensors(DumpRun& run, AtStep step) : run_(run), step_(step) {}

  absl::Status CheckRank(uint32_t rank) const override {
    return run_.FindRank(rank).status();
  }

  std::optional<model::StatisticsPoint> Newest(uint32_t number,
                                               graph::NodeIndex node,
                                               uint32_t slot) const override {
    const auto found = run_.ranks_.find(number);
    if (found == run_.ranks_.end()) return std::nullopt;
    DumpRank& rank = *found->second;
    const TensorKey key = rank.graph().KeyOf(node, slot);
    const auto& steps = rank.steps();
    auto at = step_ ? steps.upper_bound(*step_) : steps.end();
    for (int looks = 0; at != steps.begin() && looks < kMaxLookBack; ++looks) {
      --at;
      auto statistics = rank.Statistics(at->first, key, budget_);
      if (statistics) {
        return model::StatisticsPoint{at->first, *std::move(statistics)};
      }
    }
    return std::nullopt;
  }

  // Runs answer histories themselves.
  std::vector<model::StatisticsPoint> History(uint32_t, graph::NodeIndex,
                                              uint32_t) const override {
    return {};
  }

 private:
  DumpRun& run_;
  const AtStep step_;
  mutable uint64_t budget_ = kMaxReadBytes;
};

absl::StatusOr<std::vector<model::TensorSummary>> DumpRun::Tensors(
    const std::string& node, uint32_t rank, AtStep step) {
  const AtStepTensors known(*this, step);
  return jobs::TensorCatalog(graph(), *this, known, hits()).List(node, rank);
}

absl::StatusOr<model::Neighbours> DumpRun::Around(
    const model::NeighbourQuery& query, AtStep step) {
  const AtStepTensors known(*this, step);
  return jobs::TensorCatalog(graph(), *this, known, hits())
      .FindNeighbours(query);
}

absl::StatusOr<model::RunHistory> DumpRun::History(
    const model::RunHistoryQuery& query) {
  ASSIGN_OR_RETURN(const graph::NodeIndex node,
                   jobs::FindTensor(graph(), query.node, query.slot));
  ASSIGN_OR_RETURN(DumpRank* const rank, FindRank(query.rank));
  const TensorKey key = rank->graph().KeyOf(node, query.slot);
  model::RunHistory history;
  history.tensor = graph::GraphView(graph_, *this).EndpointOf(node, query.slot);
  history.saved_steps = rank->SavedSteps(key);
  const auto& steps = rank->steps();
  std::vector<model::StatisticsPoint> points;
  uint64_t budget = kMaxReadBytes;
  for (auto at = steps.lower_bound(query.from);
       at != steps.end() && at->first <= query.to; ++at) {
    auto statistics = rank->Statistics(at->first, key, budget);
    if (statistics) points.push_back({at->first, *std::move(statistics)});
  }
  if (points.size() > query.points) {
    history.buckets = recorded::MakeBuckets(points, query.points);
  } else {
    history.points = std::move(points);
  }
  return history;
}

absl::StatusOr<model::TensorValue> DumpRun::Tensor(
    const model::TensorQuery& query, AtStep at) {
  using Version = model::TensorQuery::Version;
  ASSIGN_OR_RETURN(const graph::NodeIndex node,
                   jobs::FindTensor(graph(), query.node, query.slot));
  ASSIGN_OR_RETURN(DumpRank* const rank, FindRank(query.rank));
  const TensorKey key = rank->graph().KeyOf(node, query.slot);
  const std::string name = absl::StrCat(query.node, ":", query.slot);
  const auto& steps = rank->steps();
  uint64_t step =
      at.value_or(steps.empty() ? uint64_t{0} : steps.rbegin()->first);
  if (query.version == Version::kStep) step = query.step;
  if (query.version == Version::kPrevious) {
    const auto nearest = rank->FindNearest(step, key);
    if (!nearest.before) {
      return recorded::NotRecorded("Earlier values", name, step, {});
    }
    step = *nearest.before;
  }
  ASSIGN_OR_RETURN(const auto found, rank->Find(step, key));
  model::TensorValue value;
  if (query.want_statistics) {
    uint64_t budget = kMaxReadBytes;
    value.statistics = rank->Statistics(step, key, budget);
  }
  const bool only_statistics = query.want_statistics && !query.want_data;
  if (!found && !(only_statistics && value.statistics)) {
    return recorded::NotRecorded(only_statistics ? "Statistics" : "Values",
                                 name, step, rank->FindNearest(step, key));
  }
  value.node = query.node;
  value.slot = query.slot;
  value.rank = query.rank;
  value.step = step;
  value.type =
      found ? found->tensor.type
            : graph::GraphView(graph_, *this).EndpointOf(node, query.slot).type;
  if (!found) return value;
  if (query.want_statistics && query.want_quantiles) {
    value.quantiles = recorded::QuantilesOf(*found, /*grad_scale=*/0, memory_);
  }
  RETURN_IF_ERROR(recorded::ReadValues(query, *found, memory_, value));
  return value;
}

absl::StatusOr<std::string> DumpRun::Statistics(
    const model::StatisticsQuery& query) {
  ASSIGN_OR_RETURN(DumpRank* const rank, FindRank(query.rank));
  const auto& steps = rank->steps();
  const uint64_t first = steps.empty() ? 0 : steps.begin()->first;
  const uint64_t last = steps.empty() ? 0 : steps.rbegin()->first;
  const uint64_t step = query.step.value_or(last);
  if (!steps.contains(step)) {
    return recorded::UnknownStep(step, query.rank, first, last);
  }
  std::vector<graph::StatisticsRow> rows;
  uint64_t budget = kMaxReadBytes;
  for (const TensorKey& key : rank->Dumped(step)) {
    const graph::NodeIndex node = rank->graph().NodeOf(key.node);
    const auto statistics = rank->Statistics(step, key, budget);
    if (node == graph::kNoNode || !statistics) continue;
    graph::StatisticsRow row;
    row.node = node;
    row.slot = key.slot;
    row.exec_order = static_cast<uint32_t>(graph_.node(node).order);
    row.statistics = *statistics;
    const auto found = rank->Find(step, key);
    if (found.ok() && *found) {
      row.dtype = static_cast<uint8_t>((*found)->tensor.type.dtype);
    }
    rows.push_back(std::move(row));
  }
  return graph::StatisticsFile(graph_, step, query.rank, /*complete=*/true,
                               rows);
}

}  // namespace graphdbg::dumps
