#include "server/runs/step_statistics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/graph/column_file.h"
#include "server/graph/packed_graph.h"
#include "server/model/enum_names.h"
#include "server/runs/recording.h"

namespace graphdbg::recorded {
namespace {

using runs::Record;
using Fields = runs::StatisticsFields;

// Records, and the numbers of their nodes in the graph's file.
struct Rows {
  std::vector<const Record*> records;
  std::vector<uint32_t> nodes;
};

bool Fits(const Record& record, const model::StatisticsQuery& query,
          uint64_t step) {
  return record.known_kind() == runs::Kind::kStatistics &&
         record.step == step &&
         (!query.mode || record.mode == static_cast<uint8_t>(*query.mode)) &&
         (!query.pass || record.pass == *query.pass);
}

class Writer {
 public:
  explicit Writer(const Rows& rows) : rows_(rows) {}

  template <class T, class Get>
  void Add(const char* name, Get get) {
    std::vector<T> column;
    column.reserve(rows_.records.size());
    for (const Record* record : rows_.records) {
      column.push_back(static_cast<T>(get(*record)));
    }
    file_.Add(name, column);
  }
  void AddCount(const char* name, uint64_t Fields::*field) {
    Add<uint64_t>(name, [field](const Record& record) {
      return record.statistics.*field;
    });
  }
  void AddValue(const char* name, double Fields::*field) {
    Add<double>(name, [field](const Record& record) {
      return record.statistics.*field;
    });
  }

  std::string Finish(nlohmann::ordered_json header) && {
    file_.Add("node", rows_.nodes);
    return std::move(file_).Finish(std::move(header));
  }

 private:
  const Rows& rows_;
  graph::ColumnFile file_;
};

}  // namespace

std::string StatisticsFile(const graph::GraphStore& graph, uint64_t step,
                           uint32_t rank,
                           const std::vector<StatisticsRow>& all) {
  const graph::Graph* const main = graph.FindGraph("");
  std::vector<graph::NodeIndex> numbers;
  if (main != nullptr) numbers = graph::NumbersInFile(graph, *main);
  Rows rows;
  for (const auto& [record, node] : all) {
    if (node >= numbers.size() || numbers[node] == graph::kNoNode) continue;
    rows.records.push_back(&record);
    rows.nodes.push_back(numbers[node]);
  }
  Writer writer(rows);
  writer.Add<uint32_t>("slot", [](const Record& r) { return r.slot; });
  writer.Add<uint8_t>("mode", [](const Record& r) { return r.mode; });
  writer.Add<uint32_t>("pass", [](const Record& r) { return r.pass; });
  writer.Add<uint32_t>("iteration",
                       [](const Record& r) { return r.iteration; });
  writer.Add<uint32_t>("exec_order",
                       [](const Record& r) { return r.exec_order; });
  writer.Add<uint8_t>("dtype", [](const Record& r) { return r.dtype; });
  writer.Add<uint32_t>("flags", [](const Record& r) { return r.flags; });
  writer.AddCount("count", &Fields::count);
  writer.AddCount("nan_count", &Fields::nan_count);
  writer.AddCount("pos_inf_count", &Fields::pos_inf_count);
  writer.AddCount("neg_inf_count", &Fields::neg_inf_count);
  writer.AddCount("zero_count", &Fields::zero_count);
  writer.AddCount("negative_count", &Fields::negative_count);
  writer.AddCount("positive_count", &Fields::positive_count);
  writer.AddValue("min", &Fields::min);
  writer.AddValue("max", &Fields::max);
  writer.AddValue("mean", &Fields::mean);
  writer.AddValue("abs_mean", &Fields::abs_mean);
  writer.AddValue("abs_max", &Fields::abs_max);
  writer.AddValue("variance", &Fields::variance);
  writer.AddValue("l1", &Fields::l1);
  writer.AddValue("l2", &Fields::l2);
  writer.AddValue("grad_scale", &Fields::grad_scale);
  std::vector<std::string_view> modes;
  for (const auto& [value, name] : model::EnumNames<model::RunMode>()) {
    modes.push_back(name);
  }
  return std::move(writer).Finish({{"step", step},
                                   {"rank", rank},
                                   {"graph", main == nullptr ? "" : main->id},
                                   {"records", rows.records.size()},
                                   {"modes", modes}});
}

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
  std::vector<StatisticsRow> rows;
  for (const Record& record : records->all()) {
    if (!Fits(record, query, step)) continue;
    rows.push_back({record, rank->NodeOf(record.node)});
  }
  return StatisticsFile(graph_, step, query.rank, rows);
}

}  // namespace graphdbg::recorded
