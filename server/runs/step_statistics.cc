#include "server/runs/step_statistics.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/graph/step_statistics.h"
#include "server/runs/recording.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {
namespace {

using runs::Record;

bool Fits(const Record& record, const model::StatisticsQuery& query,
          uint64_t step) {
  return record.known_kind() == runs::Kind::kStatistics &&
         record.step == step &&
         (!query.mode || record.mode == static_cast<uint8_t>(*query.mode)) &&
         (!query.pass || record.pass == *query.pass);
}

graph::StatisticsRow RowOf(const Record& record, graph::NodeIndex node) {
  graph::StatisticsRow row;
  row.node = node;
  row.slot = record.slot;
  row.mode = record.mode;
  row.pass = record.pass;
  row.iteration = record.iteration;
  row.exec_order = record.exec_order;
  row.flags = record.flags;
  row.dtype = record.dtype;
  row.statistics = StatisticsOf(record.statistics);
  row.grad_scale = record.statistics.grad_scale;
  return row;
}

}  // namespace

absl::Status UnknownStep(uint64_t step, uint32_t rank, uint64_t first,
                         uint64_t last) {
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_step",
                         absl::StrCat("step ", step, " of rank ", rank,
                                      " was not recorded; the steps are ",
                                      first, " to ", last)),
                   "step");
}

absl::StatusOr<std::string> Recording::Statistics(
    const model::StatisticsQuery& query) {
  ASSIGN_OR_RETURN(RankData* const rank, FindRank(query.rank));
  graph();
  const uint64_t step = query.step.value_or(rank->index().last_step());
  const auto records = rank->Records(step);
  if (records == nullptr) {
    return UnknownStep(step, query.rank, rank->index().first_step(),
                       rank->index().last_step());
  }
  std::vector<graph::StatisticsRow> rows;
  for (const Record& record : records->all()) {
    if (!Fits(record, query, step)) continue;
    rows.push_back(RowOf(record, rank->NodeOf(record.node)));
  }
  return graph::StatisticsFile(graph_, step, query.rank, /*complete=*/true,
                               rows);
}

}  // namespace graphdbg::recorded
