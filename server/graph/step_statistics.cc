#include "server/graph/step_statistics.h"

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "server/graph/column_file.h"
#include "server/graph/packed_graph.h"
#include "server/model/enum_names.h"
#include "server/model/run_mode.h"

namespace graphdbg::graph {
namespace {

using model::Statistics;

// Rows, and the numbers of their nodes in the graph's file.
struct Rows {
  std::vector<const StatisticsRow*> rows;
  std::vector<uint32_t> nodes;
};

class Writer {
 public:
  explicit Writer(const Rows& rows) : rows_(rows) {}

  template <class T, class Get>
  void Add(const char* name, Get get) {
    std::vector<T> column;
    column.reserve(rows_.rows.size());
    for (const StatisticsRow* row : rows_.rows) {
      column.push_back(static_cast<T>(get(*row)));
    }
    file_.Add(name, column);
  }
  template <class T>
  void AddField(const char* name, T StatisticsRow::*field) {
    Add<T>(name, [field](const StatisticsRow& row) { return row.*field; });
  }
  void AddCount(const char* name, uint64_t Statistics::*field) {
    Add<uint64_t>(name, [field](const StatisticsRow& row) {
      return row.statistics.*field;
    });
  }
  void AddValue(const char* name, std::optional<double> Statistics::*field) {
    Add<double>(name, [field](const StatisticsRow& row) {
      return (row.statistics.*field)
          .value_or(std::numeric_limits<double>::quiet_NaN());
    });
  }

  std::string Finish(nlohmann::ordered_json header) && {
    file_.Add("node", rows_.nodes);
    return std::move(file_).Finish(std::move(header));
  }

 private:
  const Rows& rows_;
  ColumnFile file_;
};

void AddColumns(Writer& writer) {
  writer.AddField("slot", &StatisticsRow::slot);
  writer.AddField("mode", &StatisticsRow::mode);
  writer.AddField("pass", &StatisticsRow::pass);
  writer.AddField("iteration", &StatisticsRow::iteration);
  writer.AddField("exec_order", &StatisticsRow::exec_order);
  writer.AddField("dtype", &StatisticsRow::dtype);
  writer.AddField("flags", &StatisticsRow::flags);
  writer.AddCount("count", &Statistics::count);
  writer.AddCount("nan_count", &Statistics::nan_count);
  writer.AddCount("pos_inf_count", &Statistics::pos_inf_count);
  writer.AddCount("neg_inf_count", &Statistics::neg_inf_count);
  writer.AddCount("zero_count", &Statistics::zero_count);
  writer.AddCount("negative_count", &Statistics::negative_count);
  writer.AddCount("positive_count", &Statistics::positive_count);
  writer.AddValue("min", &Statistics::min);
  writer.AddValue("max", &Statistics::max);
  writer.AddValue("mean", &Statistics::mean);
  writer.AddValue("abs_mean", &Statistics::abs_mean);
  writer.AddValue("abs_max", &Statistics::abs_max);
  writer.AddValue("variance", &Statistics::variance);
  writer.AddValue("l1", &Statistics::l1);
  writer.AddValue("l2", &Statistics::l2);
  writer.AddField("grad_scale", &StatisticsRow::grad_scale);
}

}  // namespace

std::string StatisticsFile(const GraphStore& store, uint64_t step,
                           uint32_t rank, bool complete,
                           const std::vector<StatisticsRow>& all) {
  const Graph* const main = store.FindGraph("");
  std::vector<NodeIndex> numbers;
  if (main != nullptr) numbers = NumbersInFile(store, *main);
  Rows rows;
  for (const StatisticsRow& row : all) {
    if (row.node >= numbers.size() || numbers[row.node] == kNoNode) continue;
    rows.rows.push_back(&row);
    rows.nodes.push_back(numbers[row.node]);
  }
  Writer writer(rows);
  AddColumns(writer);
  std::vector<std::string_view> modes;
  for (const auto& [value, name] : model::EnumNames<model::RunMode>()) {
    modes.push_back(name);
  }
  return std::move(writer).Finish({{"step", step},
                                   {"rank", rank},
                                   {"graph", main == nullptr ? "" : main->id},
                                   {"complete", complete},
                                   {"records", rows.rows.size()},
                                   {"modes", modes}});
}

}  // namespace graphdbg::graph
