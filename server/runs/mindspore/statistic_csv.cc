#include "server/runs/mindspore/statistic_csv.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/base/string_views.h"
#include "server/runs/mindspore/csv.h"

namespace graphdbg::dumps {
namespace {

constexpr uint64_t kMaxSlot = 10'000;
constexpr size_t kMaxDimensions = 64;

class Row {
 public:
  Row(const std::map<std::string, size_t, std::less<>>& columns, CsvRow cells)
      : columns_(columns), cells_(std::move(cells)) {}

  std::string_view Text(std::string_view column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= cells_.size()) return {};
    return cells_[found->second];
  }
  uint64_t Count(std::string_view column) const {
    return ParseNumber(Text(column)).value_or(0);
  }
  // Absent for "null", which is written if no element is finite.
  std::optional<double> Value(std::string_view column) const {
    double value = 0;
    if (!absl::SimpleAtod(ToAbsl(Text(column)), &value)) return std::nullopt;
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

 private:
  const std::map<std::string, size_t, std::less<>>& columns_;
  const CsvRow cells_;
};

// "(32,6,28,28)".
std::vector<int64_t> ShapeOf(std::string_view text) {
  std::vector<int64_t> shape;
  for (const absl::string_view size : absl::StrSplit(
           ToAbsl(text), absl::ByAnyChar("(), "), absl::SkipEmpty())) {
    const auto number = ParseNumber(ToStd(size));
    if (!number || *number > INT64_MAX || shape.size() >= kMaxDimensions) {
      return {};
    }
    shape.push_back(static_cast<int64_t>(*number));
  }
  return shape;
}

model::TensorType TypeOf(const Row& row) {
  const std::string_view name = row.Text("Data Type");
  const auto dtype = ParseDType(absl::AsciiStrToLower(ToAbsl(name)));
  model::TensorType type;
  type.dtype = dtype.value_or(DType::kOther);
  if (!dtype) type.framework_dtype = name;
  type.shape = ShapeOf(row.Text("Shape"));
  return type;
}

model::Statistics StatisticsOf(const Row& row) {
  model::Statistics statistics;
  statistics.count = row.Count("Count");
  statistics.nan_count = row.Count("NaN Count");
  statistics.pos_inf_count = row.Count("Positive Inf Count");
  statistics.neg_inf_count = row.Count("Negative Inf Count");
  statistics.zero_count = row.Count("Zero Count");
  // "Negative Zero" and "Positive Zero" are elements below and above zero.
  statistics.negative_count = row.Count("Negative Zero Count");
  statistics.positive_count = row.Count("Positive Zero Count");
  statistics.max = row.Value("Max Value");
  statistics.min = row.Value("Min Value");
  statistics.mean = row.Value("Avg Value");
  statistics.l2 = row.Value("L2 Value");
  if (statistics.min && statistics.max) {
    statistics.abs_max =
        std::max(std::abs(*statistics.min), std::abs(*statistics.max));
  }
  return statistics;
}

std::optional<StatisticRow> Convert(const Row& row) {
  StatisticRow to;
  to.name.op_type = row.Text("Op Type");
  to.name.op_name = row.Text("Op Name");
  to.name.task = row.Count("Task ID");
  to.name.stream = row.Count("Stream ID");
  to.name.time_us = row.Count("Timestamp");
  const std::string_view direction = row.Text("IO");
  const auto slot = ParseNumber(row.Text("Slot"));
  if (to.name.op_name.empty() || !slot || *slot > kMaxSlot ||
      (direction != "input" && direction != "output") ||
      !ParseNumber(row.Text("Count"))) {
    return std::nullopt;
  }
  to.name.is_output = direction == "output";
  to.name.slot = static_cast<uint32_t>(*slot);
  to.type = TypeOf(row);
  to.statistics = StatisticsOf(row);
  return to;
}

}  // namespace

absl::StatusOr<std::vector<StatisticRow>> ParseStatisticCsv(
    std::string_view text, uint64_t& bad_rows) {
  std::map<std::string, size_t, std::less<>> columns;
  const CsvRow header = TakeCsvRow(text);
  for (size_t i = 0; i < header.size(); ++i) columns.try_emplace(header[i], i);
  if (!columns.contains("Op Name")) {
    return absl::DataLossError("its first line has no 'Op Name'");
  }
  std::vector<StatisticRow> rows;
  while (!text.empty()) {
    CsvRow cells = TakeCsvRow(text);
    if (cells.size() == 1 && cells.front().empty()) continue;
    auto row = Convert(Row(columns, std::move(cells)));
    if (row) {
      rows.push_back(*std::move(row));
    } else {
      ++bad_rows;
    }
  }
  return rows;
}

}  // namespace graphdbg::dumps
