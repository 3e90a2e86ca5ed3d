// Statistics and values of a recorded run's tensors.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/graph/graph_view.h"
#include "server/runs/history_buckets.h"
#include "server/runs/recording.h"
#include "server/runs/series.h"
#include "server/runs/stored_values.h"

namespace graphdbg::recorded {
namespace {

using model::TensorQuery;

// Steps before the one that the user looks at, in which the newest statistics
// of a tensor are looked for.
constexpr int kMaxLookBack = 32;

}  // namespace

// The statistics at the step that the user looks at, or else the newest ones
// before it.
class Recording::AtStepTensors final : public jobs::KnownTensors {
 public:
  AtStepTensors(Recording& recording, AtStep step)
      : recording_(recording), step_(step) {}

  absl::Status CheckRank(uint32_t rank) const override {
    return recording_.FindRank(rank).status();
  }

  std::optional<model::StatisticsPoint> Newest(uint32_t number,
                                               graph::NodeIndex node,
                                               uint32_t slot) const override {
    const auto found = recording_.ranks_.find(number);
    if (found == recording_.ranks_.end()) return std::nullopt;
    RankData& rank = *found->second;
    const TensorKey key = rank.KeyOf(node, slot);
    const auto entries = rank.index().entries();
    size_t at = step_ ? rank.index().LowerBound(*step_) : entries.size();
    while (step_ && at < entries.size() && entries[at].step == *step_) ++at;
    for (int looks = 0; at > 0 && looks < kMaxLookBack; --at, ++looks) {
      const uint64_t step = entries[at - 1].step;
      const auto records = rank.Records(step);
      const runs::Record* record =
          records == nullptr ? nullptr : records->Statistics(key);
      if (record == nullptr) continue;
      return model::StatisticsPoint{step, StatisticsOf(record->statistics)};
    }
    return std::nullopt;
  }

  std::vector<model::StatisticsPoint> History(uint32_t number,
                                              graph::NodeIndex node,
                                              uint32_t slot) const override {
    std::vector<model::StatisticsPoint> points;
    const auto found = recording_.ranks_.find(number);
    if (found == recording_.ranks_.end()) return points;
    RankData& rank = *found->second;
    SeriesReader reader(rank.log(), rank.KeyOf(node, slot));
    for (const StepEntry& entry : rank.index().entries()) {
      const runs::Record record = reader.Read(entry);
      if (record.known_kind() != runs::Kind::kStatistics) continue;
      points.push_back({entry.step, StatisticsOf(record.statistics)});
    }
    return points;
  }

 private:
  Recording& recording_;
  const AtStep step_;
};

absl::StatusOr<std::vector<model::TensorSummary>> Recording::Tensors(
    const std::string& node, uint32_t rank, AtStep step) {
  const AtStepTensors known(*this, step);
  return jobs::TensorCatalog(graph(), *this, known, hits()).List(node, rank);
}

absl::StatusOr<model::Neighbours> Recording::Around(
    const model::NeighbourQuery& query, AtStep step) {
  const AtStepTensors known(*this, step);
  return jobs::TensorCatalog(graph(), *this, known, hits())
      .FindNeighbours(query);
}

absl::StatusOr<model::RunHistory> Recording::History(
    const model::RunHistoryQuery& query) {
  ASSIGN_OR_RETURN(const graph::NodeIndex node,
                   jobs::FindTensor(graph(), query.node, query.slot));
  ASSIGN_OR_RETURN(RankData* const rank, FindRank(query.rank));
  model::RunHistory history;
  history.tensor = graph::GraphView(graph_, *this).EndpointOf(node, query.slot);
  SeriesReader reader(rank->log(), rank->KeyOf(node, query.slot));
  const auto entries = rank->index().entries();
  std::vector<model::StatisticsPoint> points;
  for (size_t at = rank->index().LowerBound(query.from);
       at < entries.size() && entries[at].step <= query.to; ++at) {
    const runs::Record record = reader.Read(entries[at]);
    if (record.known_kind() != runs::Kind::kStatistics) continue;
    points.push_back({entries[at].step, StatisticsOf(record.statistics)});
  }
  if (points.size() > query.points) {
    history.buckets = MakeBuckets(points, query.points);
  } else {
    history.points = std::move(points);
  }
  history.saved_steps = rank->SavedSteps(rank->KeyOf(node, query.slot));
  return history;
}

absl::StatusOr<const jobs::OverviewTable*> Recording::Overview(
    uint32_t number) {
  ASSIGN_OR_RETURN(RankData* const rank, FindRank(number));
  return &overviews_[number].Update(*rank, graph());
}

absl::StatusOr<const jobs::OpTimeTable*> Recording::OpTimes(uint32_t number) {
  ASSIGN_OR_RETURN(RankData* const rank, FindRank(number));
  graph();
  return &rank->ReadOpTimes();
}

absl::StatusOr<model::TensorValue> Recording::Tensor(const TensorQuery& query,
                                                     AtStep at) {
  ASSIGN_OR_RETURN(const graph::NodeIndex node,
                   jobs::FindTensor(graph(), query.node, query.slot));
  ASSIGN_OR_RETURN(RankData* const rank, FindRank(query.rank));
  rank->tensors().Refresh();
  const std::string name = absl::StrCat(query.node, ":", query.slot);
  uint64_t step = at.value_or(rank->index().last_step());
  if (query.version == TensorQuery::Version::kStep) step = query.step;
  if (query.version == TensorQuery::Version::kPrevious) {
    const auto nearest = rank->tensors().FindNearest(step, name);
    if (!nearest.before) {
      return NotRecorded("Earlier values", name, step, {});
    }
    step = *nearest.before;
  }
  const auto records = rank->Records(step);
  const TensorKey key = rank->KeyOf(node, query.slot);
  ASSIGN_OR_RETURN(const auto found, rank->FindValues(step, key, name));
  const runs::Record* const statistics =
      records == nullptr ? nullptr : records->Statistics(key);
  const bool only_statistics = query.want_statistics && !query.want_data;
  if (!found && !(only_statistics && statistics != nullptr)) {
    return NotRecorded(only_statistics ? "Statistics" : "Values", name, step,
                       rank->tensors().FindNearest(step, name));
  }
  model::TensorValue value;
  value.node = query.node;
  value.slot = query.slot;
  value.rank = query.rank;
  value.step = step;
  value.type =
      found ? found->tensor.type
            : graph::GraphView(graph_, *this).EndpointOf(node, query.slot).type;
  if (const auto saved = rank->SavedRecord(step, key)) {
    value.overwritten = (saved->flags & runs::kFlagOverwritten) != 0;
    if (saved->tensor.grad_scale != 1) {
      value.grad_scale = saved->tensor.grad_scale;
    }
  }
  if (query.want_statistics) {
    if (statistics != nullptr) {
      value.statistics = StatisticsOf(statistics->statistics);
      if (found && query.want_quantiles) {
        value.quantiles = QuantilesOf(*found, value.grad_scale, memory_);
      }
    } else {
      ASSIGN_OR_RETURN(const auto measured,
                       Measure(*found, query.want_quantiles, memory_));
      if (measured) {
        value.statistics = measured->statistics;
        value.quantiles = measured->quantiles;
      }
    }
  }
  if (!found) return value;
  RETURN_IF_ERROR(ReadValues(query, *found, memory_, value));
  return value;
}

}  // namespace graphdbg::recorded
