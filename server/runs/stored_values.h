// Answers queries from the values of a tensor in a file.
#ifndef SERVER_RUNS_STORED_VALUES_H_
#define SERVER_RUNS_STORED_VALUES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/kernels/quantiles.h"
#include "agent/kernels/statistics.h"
#include "server/base/memory_budget.h"
#include "server/model/tensor.h"
#include "server/runs/tensor_files.h"

namespace graphdbg::recorded {

// Larger values are neither measured nor read for a check.
inline constexpr uint64_t kMaxMeasuredBytes = uint64_t{256} << 20;

// NOT_FOUND "not_recorded" for `what` ("Values") of a tensor.
absl::Status NotRecorded(const std::string& what, const std::string& name,
                         uint64_t step, const TensorFiles::Nearest& nearest);

model::Statistics FromKernel(const Statistics& from);

// What is computed from values.
struct Measured {
  model::Statistics statistics;
  // Absent if they were not wanted or there are no finite elements.
  std::optional<Quantiles> quantiles;
};

// Absent if the values are larger than kMaxMeasuredBytes, or of a type that has
// no statistics. RESOURCE_EXHAUSTED if `memory`, which may be null, is used up.
absl::StatusOr<std::optional<Measured>> Measure(
    const TensorFiles::Found& found, bool want_quantiles,
    const std::shared_ptr<MemoryBudget>& memory);

// Of values that are gradients of a loss multiplied by `grad_scale`, unless
// that is 0: those of the unscaled gradients. Absent where Measure() has none.
std::optional<Quantiles> QuantilesOf(
    const TensorFiles::Found& found, double grad_scale,
    const std::shared_ptr<MemoryBudget>& memory);

// Sets the shape of the slice, and the data unless the query wants none.
// INVALID_ARGUMENT for a bad slice; UNIMPLEMENTED "unreadable_dtype";
// RESOURCE_EXHAUSTED "slice_too_large" or "out_of_memory_budget".
absl::Status ReadValues(const model::TensorQuery& query,
                        const TensorFiles::Found& found,
                        const std::shared_ptr<MemoryBudget>& memory,
                        model::TensorValue& value);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STORED_VALUES_H_
