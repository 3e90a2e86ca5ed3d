// statistic.csv: the statistics of the tensors of an iteration, for dumps with
// `saved_data: statistic` or `full`.
#ifndef SERVER_RUNS_MINDSPORE_STATISTIC_CSV_H_
#define SERVER_RUNS_MINDSPORE_STATISTIC_CSV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model/tensor.h"
#include "server/runs/mindspore/dump_name.h"

namespace graphdbg::dumps {

struct StatisticRow {
  // Op, slot and times as in the name of a file.
  DumpName name;
  model::TensorType type;
  // Mean of magnitudes, variance and L1 norm are not part of a dump.
  model::Statistics statistics;
};

// Columns are found by their names in the first line, because releases have
// different ones. Rows that cannot be read, such as an incomplete last one, are
// counted in `bad_rows`. DATA_LOSS if the first line has no "Op Name".
absl::StatusOr<std::vector<StatisticRow>> ParseStatisticCsv(
    std::string_view text, uint64_t& bad_rows);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_STATISTIC_CSV_H_
