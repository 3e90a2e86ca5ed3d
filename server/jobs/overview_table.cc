#include "server/jobs/overview_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

using Measure = model::OverviewMeasure;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// "encoder/0" of "forward/encoder/0/addmm": forward and backward ops and
// parameters of a module have it in common. "" for what lies in no module.
std::string_view ModuleName(std::string_view node) {
  const size_t first = node.find('/');
  const size_t last = node.rfind('/');
  if (first == std::string_view::npos || first == last) return "";
  return node.substr(first + 1, last - first - 1);
}

decltype(auto) At(auto& cell, Measure measure) {
  return (cell.measures[static_cast<size_t>(measure)]);
}

void Increase(float& sum, float value) {
  sum = std::isnan(sum) ? value : sum + value;
}

// Norms of parts add up to that of the whole.
void AddNorm(float& norm, float value) {
  norm = std::isnan(norm) ? value : std::hypot(norm, value);
}

void Raise(float& most, float value) {
  most = std::isnan(most) ? value : std::max(most, value);
}

}  // namespace

OverviewTable::Cell OverviewTable::EmptyCell() {
  Cell cell;
  cell.measures.fill(kNone);
  cell.mean = cell.deviation = cell.min = cell.max = kNone;
  cell.quantiles.fill(kNone);
  return cell;
}

void OverviewTable::AddTo(Cell& cell, const OverviewTensor& tensor) {
  const uint64_t non_finite = tensor.nan_count + tensor.inf_count;
  Increase(At(cell, Measure::kNonFinite), static_cast<float>(non_finite));
  const bool has_values = tensor.measured > non_finite;
  if (tensor.role == OverviewRole::kGradient) {
    if (has_values) AddNorm(At(cell, Measure::kGradient), tensor.l2);
    return;
  }
  if (tensor.role == OverviewRole::kWeight) {
    if (tensor.change) Raise(At(cell, Measure::kUpdate), *tensor.change);
    return;
  }
  // The last of several results stands for the module.
  if (tensor.measured == 0) return;
  At(cell, Measure::kZeros) = static_cast<float>(tensor.zero_count) /
                              static_cast<float>(tensor.measured);
  if (!has_values) return;
  At(cell, Measure::kActivation) = tensor.abs_mean;
  cell.mean = tensor.mean;
  cell.deviation = tensor.deviation;
  cell.min = tensor.min;
  cell.max = tensor.max;
  if (tensor.quantiles.size() == cell.quantiles.size()) {
    std::copy(tensor.quantiles.begin(), tensor.quantiles.end(),
              cell.quantiles.begin());
  }
}

size_t OverviewTable::ModuleOf(std::string_view node) {
  const std::string_view name = ModuleName(node);
  const auto known = places_.find(name);
  if (known != places_.end()) return known->second;
  const size_t place = modules_.size();
  modules_.emplace_back(name);
  places_.emplace(name, place);
  return place;
}

void OverviewTable::AddTimes(Column& column,
                             const std::vector<NamedOp>& ops) const {
  constexpr std::string_view kOptimizer = "optimizer/";
  for (const NamedOp& op : ops) {
    if (op.node.starts_with(kOptimizer)) continue;
    std::string_view name = ModuleName(op.node);
    auto place = places_.find(name);
    while (place == places_.end() && !name.empty()) {
      const size_t cut = name.rfind('/');
      name = name.substr(0, cut == std::string_view::npos ? 0 : cut);
      place = places_.find(name);
    }
    if (place == places_.end()) continue;
    if (place->second >= column.cells.size()) {
      column.cells.resize(place->second + 1, EmptyCell());
    }
    Increase(At(column.cells[place->second], Measure::kTime),
             static_cast<float>(static_cast<double>(op.duration_ns) / 1e6));
  }
}

void OverviewTable::Add(model::OverviewStep step,
                        const std::vector<NamedTensor>& tensors,
                        const std::vector<NamedOp>& ops) {
  if (!columns_.empty() && step.step < columns_.back().step.step) {
    columns_.clear();
  }
  if (!columns_.empty() && step.step == columns_.back().step.step) {
    columns_.pop_back();
  }
  // In the first step, the other tensors of a module are reported before its
  // results, some of them in reverse.
  for (const auto& [node, tensor] : tensors) {
    if (tensor.role == OverviewRole::kActivation) ModuleOf(node);
  }
  Column column;
  for (const auto& [node, tensor] : tensors) {
    if (tensor.role == OverviewRole::kLoss) {
      // The last one: earlier ones may be parts of it.
      const bool finite = tensor.measured > tensor.nan_count + tensor.inf_count;
      step.loss = finite ? tensor.mean : kNone;
      continue;
    }
    const size_t place = ModuleOf(node);
    if (place >= column.cells.size()) {
      column.cells.resize(place + 1, EmptyCell());
    }
    AddTo(column.cells[place], tensor);
  }
  AddTimes(column, ops);
  column.step = std::move(step);
  columns_.push_back(std::move(column));
  MakeRoom();
}

void OverviewTable::MakeRoom() {
  const size_t most = std::clamp(
      kMaxCells / std::max<size_t>(modules_.size(), 1), size_t{10}, kMaxSteps);
  while (columns_.size() > most) columns_.pop_front();
}

std::deque<OverviewTable::Column>::const_iterator OverviewTable::After(
    std::optional<uint64_t> step) const {
  if (!step) return columns_.begin();
  return std::upper_bound(columns_.begin(), columns_.end(), *step,
                          [](uint64_t wanted, const Column& column) {
                            return wanted < column.step.step;
                          });
}

model::OverviewSummary OverviewTable::Summary(
    std::optional<uint64_t> after) const {
  model::OverviewSummary summary;
  summary.modules = modules_;
  for (auto it = After(after); it != columns_.end(); ++it) {
    summary.steps.push_back(it->step);
  }
  return summary;
}

model::OverviewMatrix OverviewTable::Matrix(
    Measure measure, std::optional<uint64_t> after) const {
  model::OverviewMatrix matrix;
  matrix.modules = modules_.size();
  for (auto it = After(after); it != columns_.end(); ++it) {
    matrix.steps.push_back(it->step.step);
    for (size_t i = 0; i < modules_.size(); ++i) {
      matrix.values.push_back(i < it->cells.size() ? At(it->cells[i], measure)
                                                   : kNone);
    }
  }
  return matrix;
}

absl::StatusOr<std::vector<model::OverviewPoint>> OverviewTable::PointsOf(
    std::string_view module, uint32_t rank) const {
  const auto place = places_.find(module);
  if (place == places_.end()) {
    return Error(absl::StatusCode::kNotFound, "unknown_module",
                 absl::StrCat("the overview of rank ", rank, " has no module '",
                              std::string(module), "'"));
  }
  std::vector<model::OverviewPoint> points;
  for (const Column& column : columns_) {
    if (place->second >= column.cells.size()) continue;
    const Cell& cell = column.cells[place->second];
    points.push_back({column.step.step, cell.measures, cell.mean,
                      cell.deviation, cell.min, cell.max, cell.quantiles});
  }
  return points;
}

uint64_t OverviewTable::bytes() const {
  uint64_t cells = 0;
  for (const Column& column : columns_) cells += column.cells.capacity();
  return cells * sizeof(Cell) + columns_.size() * sizeof(Column);
}

}  // namespace graphdbg::jobs
