#include "server/runs/step_records.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace graphdbg::recorded {
namespace {

using runs::Kind;
using runs::Record;

std::optional<double> Present(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace

std::vector<Record> ReadRecords(const RankLog& log,
                                std::span<const StepEntry> entries) {
  std::vector<Record> records;
  for (const StepEntry& entry : entries) {
    const uint64_t room = kMaxStepRecords - records.size();
    const size_t before = records.size();
    records.resize(before + std::min(entry.count, room));
    log.Read(entry.first, std::span(records).subspan(before));
  }
  std::erase_if(records, [](const Record& record) {
    return record.known_kind() == Kind::kNone;
  });
  return records;
}

bool IsBetter(const Record& candidate, const Record& than) {
  const auto train = static_cast<uint8_t>(runs::Mode::kTrain);
  return candidate.mode == train || than.mode != train;
}

model::Statistics StatisticsOf(const runs::StatisticsFields& from) {
  model::Statistics to;
  to.count = from.count;
  to.nan_count = from.nan_count;
  to.pos_inf_count = from.pos_inf_count;
  to.neg_inf_count = from.neg_inf_count;
  to.zero_count = from.zero_count;
  to.negative_count = from.negative_count;
  to.positive_count = from.positive_count;
  to.min = Present(from.min);
  to.max = Present(from.max);
  to.mean = Present(from.mean);
  to.abs_mean = Present(from.abs_mean);
  to.abs_max = Present(from.abs_max);
  to.variance = Present(from.variance);
  to.l1 = Present(from.l1);
  to.l2 = Present(from.l2);
  return to;
}

runs::StatisticsFields FieldsOf(const model::Statistics& from) {
  constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
  return {from.count,
          from.nan_count,
          from.pos_inf_count,
          from.neg_inf_count,
          from.zero_count,
          from.negative_count,
          from.positive_count,
          from.min.value_or(kAbsent),
          from.max.value_or(kAbsent),
          from.mean.value_or(kAbsent),
          from.abs_mean.value_or(kAbsent),
          from.abs_max.value_or(kAbsent),
          from.variance.value_or(kAbsent),
          from.l1.value_or(kAbsent),
          from.l2.value_or(kAbsent),
          1};
}

graphdbg::Statistics KernelStatisticsOf(const runs::StatisticsFields& from) {
  return {from.count,          from.nan_count,  from.pos_inf_count,
          from.neg_inf_count,  from.zero_count, from.negative_count,
          from.positive_count, from.min,        from.max,
          from.mean,           from.abs_mean,   from.abs_max,
          from.variance,       from.l1,         from.l2};
}

PairStatistics PairStatisticsOf(const runs::ChangeFields& from) {
  return {from.count,          from.finite_count, from.change_abs_mean,
          from.change_abs_max, from.change_l2,    from.previous_abs_mean,
          from.previous_l2};
}

StepRecords::StepRecords(uint64_t step, std::vector<Record> records)
    : step_(step), records_(std::move(records)) {
  for (size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    const Kind kind = record.known_kind();
    // Saved tensors may be recorded later than their step.
    if (kind == Kind::kStatistics && record.step != step_) continue;
    if (kind != Kind::kStatistics && kind != Kind::kTensor) continue;
    if (kind == Kind::kTensor) {
      saved_[{KeyOf(record), record.step}] = i;
      continue;
    }
    const auto [place, is_new] = statistics_.try_emplace(KeyOf(record), i);
    if (!is_new && IsBetter(record, records_[place->second])) place->second = i;
  }
}

const Record* StepRecords::Statistics(TensorKey key) const {
  const auto place = statistics_.find(key);
  return place == statistics_.end() ? nullptr : &records_[place->second];
}

const Record* StepRecords::Saved(TensorKey key, uint64_t step) const {
  const auto place = saved_.find({key, step});
  return place == saved_.end() ? nullptr : &records_[place->second];
}

}  // namespace graphdbg::recorded
