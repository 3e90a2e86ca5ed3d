#include "agent/recording/records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace graphdbg::recording {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

uint16_t UpToMany(uint64_t number) {
  return static_cast<uint16_t>(std::min<uint64_t>(number, runs::kMany));
}

void StoreWord(uint64_t word, size_t offset, runs::Record* to) {
  std::memcpy(reinterpret_cast<char*>(to) + offset, &word, sizeof(word));
}

// Writes bytes 4 to 31, and in whole words: the checksum reads them at once,
// and a word that was just written in parts would keep it waiting.
void WriteKey(runs::Kind kind, const agent::RecordKey& key, runs::Record* to) {
  const uint32_t begin =
      static_cast<uint32_t>(kind) | static_cast<uint32_t>(key.flags) << 16;
  std::memcpy(reinterpret_cast<char*>(to) + offsetof(runs::Record, kind),
              &begin, sizeof(begin));
  to->step = key.step;
  StoreWord(key.node | uint64_t{UpToMany(key.slot)} << 32 |
                uint64_t{key.dtype} << 48 |
                static_cast<uint64_t>(key.mode) << 56,
            offsetof(runs::Record, node), to);
  StoreWord(std::min<uint64_t>(key.exec_order, UINT32_MAX) |
                uint64_t{UpToMany(key.iteration)} << 32 |
                uint64_t{UpToMany(key.pass)} << 48,
            offsetof(runs::Record, exec_order), to);
}

runs::Record RecordOf(runs::Kind kind, const agent::RecordKey& key) {
  runs::Record record{};
  WriteKey(kind, key, &record);
  return record;
}

}  // namespace

void WriteStatistics(const agent::RecordKey& key, const Statistics& statistics,
                     double grad_scale, runs::Record* record) {
  WriteKey(runs::Kind::kStatistics, key, record);
  const bool light = (key.flags & runs::kFlagLight) != 0;
  const bool finite = statistics.has_finite();
  const bool whole = finite && !light;
  runs::StatisticsFields& to = record->statistics;
  to.count = statistics.count;
  to.nan_count = statistics.nan_count;
  to.pos_inf_count = statistics.pos_inf_count;
  to.neg_inf_count = statistics.neg_inf_count;
  to.zero_count = light ? 0 : statistics.zero_count;
  to.negative_count = light ? 0 : statistics.negative_count;
  to.positive_count = light ? 0 : statistics.positive_count;
  to.min = finite ? statistics.min : kNone;
  to.max = finite ? statistics.max : kNone;
  to.mean = whole ? statistics.mean : kNone;
  to.abs_mean = whole ? statistics.abs_mean : kNone;
  to.abs_max = whole ? statistics.abs_max : kNone;
  if (finite && light) {
    to.abs_max = std::max(std::abs(statistics.min), std::abs(statistics.max));
  }
  to.variance = whole ? statistics.variance : kNone;
  to.l1 = whole ? statistics.l1 : kNone;
  to.l2 = whole ? statistics.l2 : kNone;
  to.grad_scale = grad_scale;
}

runs::Record ChangeRecord(const agent::RecordKey& key,
                          const agent::RecordedChange& change) {
  runs::Record record = RecordOf(runs::Kind::kChange, key);
  const bool finite = change.pair.finite_count > 0;
  runs::ChangeFields& to = record.change;
  to.count = change.pair.count;
  to.finite_count = change.pair.finite_count;
  to.digest = change.digest;
  to.change_abs_mean = finite ? change.pair.change_abs_mean : kNone;
  to.change_abs_max = finite ? change.pair.change_abs_max : kNone;
  to.change_l2 = finite ? change.pair.change_l2 : kNone;
  to.previous_abs_mean = finite ? change.pair.previous_abs_mean : kNone;
  to.previous_l2 = finite ? change.pair.previous_l2 : kNone;
  to.changed_count = change.changed_count;
  to.previous_step = change.previous_step;
  return record;
}

runs::Record UnitsRecord(const agent::RecordKey& key,
                         const agent::RecordedUnits& units) {
  runs::Record record = RecordOf(runs::Kind::kUnits, key);
  record.units.axis = units.axis;
  record.units.units = units.units;
  record.units.idle_units = units.idle_units;
  record.units.from = units.from;
  record.units.to = units.to;
  record.units.share = units.share;
  return record;
}

runs::Record MarkRecord(runs::Kind kind, const agent::RecordKey& key,
                        const agent::RecordedMark& mark) {
  runs::Record record = RecordOf(kind, key);
  record.mark.unix_ns = mark.unix_ns;
  record.mark.monotonic_ns = mark.monotonic_ns;
  record.mark.mode_step = mark.mode_step;
  record.mark.records = mark.records;
  record.mark.records_dropped = mark.records_dropped;
  record.mark.tensors_dropped = mark.tensors_dropped;
  record.mark.tensor_bytes = mark.tensor_bytes;
  record.mark.measuring_ns = mark.measuring_ns;
  record.mark.reason = static_cast<uint32_t>(mark.reason);
  return record;
}

runs::Record TensorRecord(const agent::RecordKey& key) {
  return RecordOf(runs::Kind::kTensor, key);
}

runs::Record HitRecord(const agent::RecordKey& key, uint64_t number,
                       uint32_t watchpoint) {
  runs::Record record = RecordOf(runs::Kind::kHit, key);
  record.hit.number = number;
  record.hit.watchpoint = watchpoint;
  return record;
}

}  // namespace graphdbg::recording
