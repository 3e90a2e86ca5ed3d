// The statistics of one tensor over the steps.
#ifndef SERVER_RUNS_SERIES_H_
#define SERVER_RUNS_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/runs/record.h"
#include "server/runs/rank_log.h"
#include "server/runs/step_index.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {

// Most steps record the same tensors in the same order, so a tensor is usually
// at the place where it was in the step before, and one small read finds it.
// Otherwise the whole step is read.
class SeriesReader {
 public:
  SeriesReader(const RankLog& log, TensorKey key) : log_(log), key_(key) {}

  // The record of the tensor's statistics among the records of an entry, as
  // StepRecords chooses it. Kind::kNone if there is none.
  runs::Record Read(const StepEntry& entry);

 private:
  bool ReadWherePredicted(const StepEntry& entry, runs::Record& found) const;
  runs::Record Search(const StepEntry& entry);

  const RankLog& log_;
  const TensorKey key_;
  // Of the step that was searched last: its number of records, and the places
  // of the tensor's statistics in it, from its first record.
  uint64_t count_ = 0;
  std::vector<uint64_t> places_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_SERIES_H_
