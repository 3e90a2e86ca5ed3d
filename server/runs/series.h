// The records of one tensor over the steps.
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
  // `kind` is that of records about a tensor.
  SeriesReader(const RankLog& log, TensorKey key,
               runs::Kind kind = runs::Kind::kStatistics)
      : log_(log), key_(key), kind_(kind) {}

  // The tensor's record among those of an entry, as StepRecords chooses it.
  // Kind::kNone if there is none.
  runs::Record Read(const StepEntry& entry);

 private:
  bool ReadWherePredicted(const StepEntry& entry, runs::Record& found) const;
  runs::Record Search(const StepEntry& entry);
  bool Fits(const runs::Record& record) const {
    return record.known_kind() == kind_ && KeyOf(record) == key_;
  }

  const RankLog& log_;
  const TensorKey key_;
  const runs::Kind kind_;
  // The step that was searched last: its number of records, and the places of
  // the tensor's records in it, from its first record.
  uint64_t count_ = 0;
  std::vector<uint64_t> places_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_SERIES_H_
