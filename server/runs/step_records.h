// The records of one step of one rank.
#ifndef SERVER_RUNS_STEP_RECORDS_H_
#define SERVER_RUNS_STEP_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/kernels/statistics.h"
#include "proto/runs/record.h"
#include "server/model/tensor.h"
#include "server/runs/rank_log.h"
#include "server/runs/step_index.h"

namespace graphdbg::recorded {

// Identifies a tensor in records: the process's id of the node, and the slot.
struct TensorKey {
  uint32_t node = 0;
  uint32_t slot = 0;

  bool operator==(const TensorKey&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const TensorKey& key) {
    return H::combine(std::move(h), key.node, key.slot);
  }
};

inline TensorKey KeyOf(const runs::Record& record) {
  return {record.node, record.slot};
}

// A step with more records is read up to this one.
inline constexpr uint64_t kMaxStepRecords = 4'000'000;

// Reads the records of these entries, without those that are missing or
// damaged.
std::vector<runs::Record> ReadRecords(const RankLog& log,
                                      std::span<const StepEntry> entries);

// Chooses among a tensor's records in a step: the last execution counts, and
// training counts before evaluations within the step.
bool IsBetter(const runs::Record& candidate, const runs::Record& than);

// Absent values are those that are NaN in the record.
model::Statistics StatisticsOf(const runs::StatisticsFields& fields);
// The inverse. Gradients are not scaled.
runs::StatisticsFields FieldsOf(const model::Statistics& statistics);
// For conditions.
Statistics KernelStatisticsOf(const runs::StatisticsFields& fields);
PairStatistics PairStatisticsOf(const runs::ChangeFields& fields);

class StepRecords {
 public:
  StepRecords(uint64_t step, std::vector<runs::Record> records);

  uint64_t step() const { return step_; }
  // All records, in the order in which they were appended.
  const std::vector<runs::Record>& all() const { return records_; }
  // The record of a tensor's statistics; null if there is none.
  const runs::Record* Statistics(TensorKey key) const;
  // The record of values that were saved at `step`; null if it is not here.
  const runs::Record* Saved(TensorKey key, uint64_t step) const;
  uint64_t bytes() const { return records_.size() * sizeof(runs::Record); }

 private:
  const uint64_t step_;
  const std::vector<runs::Record> records_;
  // Places in `records_`.
  absl::flat_hash_map<TensorKey, size_t> statistics_;
  absl::flat_hash_map<std::pair<TensorKey, uint64_t>, size_t> saved_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_RECORDS_H_
