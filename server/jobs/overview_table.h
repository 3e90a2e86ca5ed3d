// The overview of one rank: modules by steps.
#ifndef SERVER_JOBS_OVERVIEW_TABLE_H_
#define SERVER_JOBS_OVERVIEW_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/jobs/overview_tensor.h"
#include "server/model/overview.h"

namespace graphdbg::jobs {

// Keeps the newest steps, as many as fit: 1,000, or fewer for very many
// modules. Not thread-safe.
class OverviewTable {
 public:
  static constexpr size_t kMaxSteps = 1'000;
  // Modules times steps.
  static constexpr size_t kMaxCells = 1'000'000;

  struct NamedTensor {
    // The node's full name, such as "forward/encoder/0/addmm".
    std::string_view node;
    OverviewTensor tensor;
  };
  struct NamedOp {
    std::string_view node;
    uint64_t duration_ns = 0;
  };
  // Replaces the step if it is there already. A step that is earlier than the
  // newest one begins anew: the process has started again.
  // An op counts for the module it is in, or for the one around that if the
  // module itself has no tensors.
  void Add(model::OverviewStep step, const std::vector<NamedTensor>& tensors,
           const std::vector<NamedOp>& ops = {});

  bool empty() const { return columns_.empty(); }
  // `after`: only later steps, all if absent.
  model::OverviewSummary Summary(std::optional<uint64_t> after) const;
  model::OverviewMatrix Matrix(model::OverviewMeasure measure,
                               std::optional<uint64_t> after) const;
  // NOT_FOUND "unknown_module"; `rank` is for the message.
  absl::StatusOr<std::vector<model::OverviewPoint>> PointsOf(
      std::string_view module, uint32_t rank) const;
  uint64_t bytes() const;

 private:
  struct Cell {
    // By model::OverviewMeasure.
    std::array<float, model::kOverviewMeasures> measures;
    float mean, deviation, min, max;
    std::array<float, 5> quantiles;
  };
  // One step. Modules that were unknown then have no cell.
  struct Column {
    model::OverviewStep step;
    std::vector<Cell> cells;
  };

  static Cell EmptyCell();
  static void AddTo(Cell& cell, const OverviewTensor& tensor);
  size_t ModuleOf(std::string_view node);
  void AddTimes(Column& column, const std::vector<NamedOp>& ops) const;
  void MakeRoom();
  // The first column behind a step.
  std::deque<Column>::const_iterator After(std::optional<uint64_t> step) const;

  std::vector<std::string> modules_;
  std::map<std::string, size_t, std::less<>> places_;
  std::deque<Column> columns_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_OVERVIEW_TABLE_H_
