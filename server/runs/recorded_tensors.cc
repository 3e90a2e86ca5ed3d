// Statistics and values of a recorded run's tensors.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/graph/graph_view.h"
#include "server/runs/history_buckets.h"
#include "server/runs/recording.h"
#include "server/runs/series.h"

namespace graphdbg::recorded {
namespace {

using model::TensorQuery;

// Steps before the one that the user looks at, in which the newest statistics
// of a tensor are looked for.
constexpr int kMaxLookBack = 32;
// Values whose statistics were not recorded are measured up to this size.
constexpr uint64_t kMaxMeasuredBytes = uint64_t{256} << 20;

absl::Status NotRecorded(const std::string& what, const std::string& name,
                         uint64_t step, const TensorFiles::Nearest& nearest) {
  std::string text =
      absl::StrCat(what, " of '", name, "' were not recorded at step ", step);
  if (nearest.before && nearest.after) {
    absl::StrAppend(&text, "; the nearest recorded steps are ", *nearest.before,
                    " and ", *nearest.after);
  } else if (nearest.before || nearest.after) {
    absl::StrAppend(&text, "; the nearest recorded step is ",
                    nearest.before ? *nearest.before : *nearest.after);
  }
  return Error(absl::StatusCode::kNotFound, "not_recorded", text);
}

model::Statistics FromKernel(const Statistics& from) {
  model::Statistics to;
  to.count = from.count;
  to.nan_count = from.nan_count;
  to.pos_inf_count = from.pos_inf_count;
  to.neg_inf_count = from.neg_inf_count;
  to.zero_count = from.zero_count;
  to.negative_count = from.negative_count;
  to.positive_count = from.positive_count;
  if (!from.has_finite()) return to;
  to.min = from.min;
  to.max = from.max;
  to.mean = from.mean;
  to.abs_mean = from.abs_mean;
  to.abs_max = from.abs_max;
  to.variance = from.variance;
  to.l1 = from.l1;
  to.l2 = from.l2;
  return to;
}

absl::StatusOr<std::optional<model::Statistics>> Measure(
    const TensorFiles::Found& found) {
  if (found.tensor.bytes > kMaxMeasuredBytes) return std::nullopt;
  const auto& shape = found.tensor.type.shape;
  ASSIGN_OR_RETURN(const std::string data,
                   ReadSlice(found.file, found.tensor, WholeSlice(shape)));
  const TensorView view{found.tensor.type.dtype, data.data(), shape.size(),
                        shape.data(), nullptr};
  conditions::TensorMeasurements measurements(&view, nullptr, 0);
  if (!measurements.Measure({true, false})) return std::nullopt;
  return FromKernel(measurements.statistics());
}

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
  ASSIGN_OR_RETURN(const auto found, rank->tensors().Find(step, name));
  const auto records = rank->Records(step);
  const TensorKey key = rank->KeyOf(node, query.slot);
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
    } else {
      ASSIGN_OR_RETURN(value.statistics, Measure(*found));
    }
  }
  if (!found) return value;
  RETURN_IF_ERROR(ReadData(query, *found, value));
  return value;
}

absl::Status Recording::ReadData(const TensorQuery& query,
                                 const TensorFiles::Found& found,
                                 model::TensorValue& value) const {
  ASSIGN_OR_RETURN(const Slice slice,
                   ParseSlice(query.slice, found.tensor.type.shape));
  value.slice_shape = ShapeOf(slice);
  if (!query.want_data) return absl::OkStatus();
  const uint64_t item_bytes = ItemSize(found.tensor.type.dtype);
  const auto elements = static_cast<uint64_t>(graphdbg::ElementCount(slice));
  if (item_bytes == 0) {
    return Error(
        absl::StatusCode::kUnimplemented, "unreadable_dtype",
        absl::StrCat("values of type ", found.tensor.type.framework_dtype,
                     " cannot be read"));
  }
  const uint64_t bytes = elements * item_bytes;
  if ((query.max_elements != 0 && elements > query.max_elements) ||
      (query.max_bytes != 0 && bytes > query.max_bytes)) {
    return Error(
        absl::StatusCode::kResourceExhausted, "slice_too_large",
        absl::StrCat("the slice has ", elements, " elements and ", bytes,
                     " bytes; the limit is ",
                     query.max_elements != 0
                         ? absl::StrCat(query.max_elements, " elements")
                         : absl::StrCat(query.max_bytes, " bytes")));
  }
  if (memory_ != nullptr) {
    ASSIGN_OR_RETURN(auto reserved,
                     memory_->Reserve(MemoryAccount::kTensors, bytes));
    value.memory =
        std::make_shared<MemoryBudget::Reservation>(std::move(reserved));
  }
  ASSIGN_OR_RETURN(value.data, ReadSlice(found.file, found.tensor, slice));
  return absl::OkStatus();
}

}  // namespace graphdbg::recorded
