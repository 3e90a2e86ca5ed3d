// The record: 160 bytes, little endian, the unit of the ring and of the log.
// proto/docs/run-format.md describes each field.
#ifndef PROTO_RUNS_RECORD_H_
#define PROTO_RUNS_RECORD_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphdbg::runs {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "records are written as they are in memory");

// Readers pass over kinds that they do not know.
enum class Kind : uint16_t {
  kNone = 0,
  kStatistics = 1,
  kChange = 2,
  // Begin and end of a step, or of a pass within it if `pass` is not 0.
  kBegin = 3,
  kEnd = 4,
  kTensor = 5,
  // The position of a record that was never committed.
  kHole = 6,
  kHit = 7,
  kUnits = 8,
};

enum Flag : uint16_t {
  // Only exact count, non-finite counts, min and max; the rest is absent.
  kFlagLight = 1,
  // The tensor was overwritten in place since.
  kFlagOverwritten = 2,
  // Intentional infinities, such as those of a mask.
  kFlagIntentionalInfinities = 4,
  // The same storage as an earlier record of the step.
  kFlagView = 8,
  // Measured on an accelerator.
  kFlagDevice = 16,
};

enum class Mode : uint8_t {
  kUnknown = 0,
  kTrain = 1,
  kEval = 2,
  kPredict = 3,
};
inline constexpr int kModes = 4;
// "unknown", "train", "eval", "predict".
absl::string_view ToString(Mode mode);

// Why a step that has ended has no records.
enum class EndReason : uint32_t {
  kNone = 0,
  kOverhead = 1,
  kNotDue = 2,
};

// `iteration` and `pass` stand for this many or more.
inline constexpr uint16_t kMany = 65535;

// Counts are exact. The values from `min` to `l2` are NaN where there is no
// finite element, or the record is light. They are of the true values:
// gradients are divided by `grad_scale` already, which is 1 if they were not
// scaled.
struct StatisticsFields {
  uint64_t count;
  uint64_t nan_count;
  uint64_t pos_inf_count;
  uint64_t neg_inf_count;
  uint64_t zero_count;
  uint64_t negative_count;
  uint64_t positive_count;
  double min;
  double max;
  double mean;
  double abs_mean;
  double abs_max;
  double variance;
  double l1;
  double l2;
  double grad_scale;
};

struct ChangeFields {
  uint64_t count;
  uint64_t finite_count;
  // See digest.h; 0: none.
  uint64_t digest;
  double change_abs_mean;
  double change_abs_max;
  double change_l2;
  double previous_abs_mean;
  double previous_l2;
  // Elements that are not close: rtol 1e-5, atol 1e-8.
  uint64_t changed_count;
  uint64_t previous_step;
};

// Kinds 3 and 4. The fields behind `mode_step` are those of an end.
struct MarkFields {
  uint64_t unix_ns;
  uint64_t monotonic_ns;
  uint64_t mode_step;
  uint64_t records;
  uint64_t records_dropped;
  uint64_t tensors_dropped;
  uint64_t measuring_ns;
  uint64_t tensor_bytes;
  uint32_t reason;  // EndReason
};

inline constexpr int kMaxSavedDimensions = 11;

struct TensorFields {
  // In the data of its file.
  uint64_t offset;
  uint64_t bytes;
  // File of the step, from 1.
  uint32_t file;
  uint8_t ndim;
  uint8_t zero[3];
  // The CRC-32C of the bytes, not seeded.
  uint32_t data_crc;
  uint32_t zero_too;
  int64_t shape[kMaxSavedDimensions];
  double grad_scale;
};

struct HitFields {
  // Place of the message in hits.gdbm, from 1.
  uint64_t number;
  uint32_t watchpoint;
};

struct UnitsFields {
  uint32_t axis;
  uint32_t units;
  uint32_t idle_units;
  uint32_t zero;
  double from;
  double to;
  // Percentage below which a unit is idle.
  double share;
};

struct Record {
  uint32_t crc;
  uint16_t kind;
  uint16_t flags;
  uint64_t step;
  uint32_t node;
  uint16_t slot;
  uint8_t dtype;
  uint8_t mode;
  uint32_t exec_order;
  uint16_t iteration;
  uint16_t pass;
  union {
    StatisticsFields statistics;
    ChangeFields change;
    MarkFields mark;
    TensorFields tensor;
    HitFields hit;
    UnitsFields units;
    unsigned char bytes[128];
  };

  Kind known_kind() const { return static_cast<Kind>(kind); }
};

inline constexpr size_t kRecordBytes = 160;

static_assert(sizeof(Record) == kRecordBytes);
static_assert(offsetof(Record, kind) == 4);
static_assert(offsetof(Record, flags) == 6);
static_assert(offsetof(Record, step) == 8);
static_assert(offsetof(Record, node) == 16);
static_assert(offsetof(Record, slot) == 20);
static_assert(offsetof(Record, dtype) == 22);
static_assert(offsetof(Record, mode) == 23);
static_assert(offsetof(Record, exec_order) == 24);
static_assert(offsetof(Record, iteration) == 28);
static_assert(offsetof(Record, pass) == 30);
static_assert(offsetof(Record, bytes) == 32);
static_assert(offsetof(StatisticsFields, min) == 88 - 32);
static_assert(offsetof(StatisticsFields, l2) == 144 - 32);
static_assert(offsetof(StatisticsFields, grad_scale) == 152 - 32);
static_assert(offsetof(ChangeFields, digest) == 48 - 32);
static_assert(offsetof(ChangeFields, previous_l2) == 88 - 32);
static_assert(offsetof(ChangeFields, previous_step) == 104 - 32);
static_assert(offsetof(MarkFields, mode_step) == 48 - 32);
static_assert(offsetof(MarkFields, tensor_bytes) == 88 - 32);
static_assert(offsetof(MarkFields, reason) == 96 - 32);
static_assert(offsetof(TensorFields, file) == 48 - 32);
static_assert(offsetof(TensorFields, ndim) == 52 - 32);
static_assert(offsetof(TensorFields, data_crc) == 56 - 32);
static_assert(offsetof(TensorFields, shape) == 64 - 32);
static_assert(offsetof(TensorFields, grad_scale) == 152 - 32);
static_assert(offsetof(HitFields, watchpoint) == 40 - 32);
static_assert(offsetof(UnitsFields, idle_units) == 40 - 32);
static_assert(offsetof(UnitsFields, from) == 48 - 32);
static_assert(offsetof(UnitsFields, share) == 64 - 32);

// The checksum of the record at `position`: of the position (u64) and of bytes
// 4 to 159, so a record in the wrong place has a wrong one. Never 0, which
// means that a record is not committed.
uint32_t RecordCrc(uint64_t position, const Record& record);

// Whether the record is committed and was written for `position`.
inline bool IsAt(uint64_t position, const Record& record) {
  return record.crc != 0 && record.crc == RecordCrc(position, record);
}

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_RECORD_H_
