#include "server/runs/stored_values.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::recorded {

absl::Status NotRecorded(const std::string& what, const std::string& name,
                         uint64_t step, const TensorFiles::Nearest& nearest) {
  std::string text =
      absl::StrCat(what, " of '", name, "' were not recorded at step ", step);
  if (nearest.before && nearest.after) {
    absl::StrAppend(&text, "; the nearest recorded steps are ", *nearest.before,
                    " and ", *nearest.after);
  } else if (nearest.before || nearest.after) {
    absl::StrAppend(&text, "; the nearest recorded step is ",
                    nearest.before ? *nearest.before : *nearest.after);
  }
  return Error(absl::StatusCode::kNotFound, "not_recorded", text);
}

model::Statistics FromKernel(const Statistics& from) {
  model::Statistics to;
  to.count = from.count;
  to.nan_count = from.nan_count;
  to.pos_inf_count = from.pos_inf_count;
  to.neg_inf_count = from.neg_inf_count;
  to.zero_count = from.zero_count;
  to.negative_count = from.negative_count;
  to.positive_count = from.positive_count;
  if (!from.has_finite()) return to;
  to.min = from.min;
  to.max = from.max;
  to.mean = from.mean;
  to.abs_mean = from.abs_mean;
  to.abs_max = from.abs_max;
  to.variance = from.variance;
  to.l1 = from.l1;
  to.l2 = from.l2;
  return to;
}

absl::StatusOr<std::optional<Measured>> Measure(
    const TensorFiles::Found& found, bool want_quantiles,
    const std::shared_ptr<MemoryBudget>& memory) {
  if (found.tensor.bytes > kMaxMeasuredBytes ||
      !HasStatistics(found.tensor.type.dtype)) {
    return std::nullopt;
  }
  MemoryBudget::Reservation reserved;
  if (memory != nullptr) {
    ASSIGN_OR_RETURN(
        reserved, memory->Reserve(MemoryAccount::kTensors, found.tensor.bytes));
  }
  const auto& shape = found.tensor.type.shape;
  ASSIGN_OR_RETURN(const std::string data,
                   ReadSlice(found.file, found.tensor, WholeSlice(shape)));
  const TensorView view{found.tensor.type.dtype, data.data(), shape.size(),
                        shape.data(), nullptr};
  conditions::TensorMeasurements measurements(&view, nullptr, 0);
  if (!measurements.Measure({true, false})) return std::nullopt;
  Measured measured{FromKernel(measurements.statistics()), std::nullopt};
  if (const Quantiles* quantiles =
          want_quantiles ? measurements.quantiles() : nullptr) {
    measured.quantiles = *quantiles;
  }
  return measured;
}

std::optional<Quantiles> QuantilesOf(
    const TensorFiles::Found& found, double grad_scale,
    const std::shared_ptr<MemoryBudget>& memory) {
  const auto measured = Measure(found, /*want_quantiles=*/true, memory);
  if (!measured.ok() || !*measured) return std::nullopt;
  std::optional<Quantiles> quantiles = (*measured)->quantiles;
  if (quantiles && grad_scale > 0) quantiles->DivideBy(grad_scale);
  return quantiles;
}

absl::Status ReadValues(const model::TensorQuery& query,
                        const TensorFiles::Found& found,
                        const std::shared_ptr<MemoryBudget>& memory,
                        model::TensorValue& value) {
  ASSIGN_OR_RETURN(const Slice slice,
                   ParseSlice(query.slice, found.tensor.type.shape));
  value.slice_shape = ShapeOf(slice);
  if (!query.want_data) return absl::OkStatus();
  const uint64_t item_bytes = ItemSize(found.tensor.type.dtype);
  const auto elements = static_cast<uint64_t>(graphdbg::ElementCount(slice));
  if (item_bytes == 0) {
    return Error(
        absl::StatusCode::kUnimplemented, "unreadable_dtype",
        absl::StrCat("values of type ", found.tensor.type.framework_dtype,
                     " cannot be read"));
  }
  const uint64_t bytes = elements * item_bytes;
  if ((query.max_elements != 0 && elements > query.max_elements) ||
      (query.max_bytes != 0 && bytes > query.max_bytes)) {
    return Error(
        absl::StatusCode::kResourceExhausted, "slice_too_large",
        absl::StrCat("the slice has ", elements, " elements and ", bytes,
                     " bytes; the limit is ",
                     query.max_elements != 0
                         ? absl::StrCat(query.max_elements, " elements")
                         : absl::StrCat(query.max_bytes, " bytes")));
  }
  if (memory != nullptr) {
    ASSIGN_OR_RETURN(auto reserved,
                     memory->Reserve(MemoryAccount::kTensors, bytes));
    value.memory =
        std::make_shared<MemoryBudget::Reservation>(std::move(reserved));
  }
  ASSIGN_OR_RETURN(value.data, ReadSlice(found.file, found.tensor, slice));
  return absl::OkStatus();
}

}  // namespace graphdbg::recorded
