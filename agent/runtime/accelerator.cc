#include "agent/runtime/accelerator.h"

#include <algorithm>

#include "agent/kernels/cpu/pairs.h"
#include "agent/kernels/cpu/quantiles.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {

absl::Status CompareOnHost(Accelerator* device, const TensorView& now,
                           const TensorView& previous,
                           const Tolerance& tolerance, Stream stream,
                           PairStatistics* statistics, uint64_t* changed) {
  const std::optional<int64_t> count = now.element_count();
  if (!count || !HasStatistics(now.dtype) || now.dtype != previous.dtype ||
      now.ndim != previous.ndim ||
      !std::equal(now.shape, now.shape + now.ndim, previous.shape)) {
    return absl::UnimplementedError(
        "tensors of different types or shapes cannot be compared");
  }
  std::string values;
  RETURN_IF_ERROR(device->Synchronize(stream));
  if (*count > 0) {
    const Slice all = WholeSlice({now.shape, now.shape + now.ndim});
    RETURN_IF_ERROR(device->Read(now, all, 0, *count, &values));
  }
  TensorView copy = now;
  copy.data = values.data();
  copy.strides = nullptr;
  cpu::ComparePair(copy, previous, statistics);
  *changed = cpu::CountChanged(copy, previous, tolerance).value_or(0);
  return absl::OkStatus();
}

absl::Status QuantilesOnHost(Accelerator* device, const TensorView& view,
                             double min, double max, Stream stream,
                             Quantiles* quantiles) {
  const std::optional<int64_t> count = view.element_count();
  if (!count || *count == 0 || !HasStatistics(view.dtype)) {
    return absl::UnimplementedError("the tensor has no quantiles");
  }
  std::string values;
  RETURN_IF_ERROR(device->Synchronize(stream));
  const Slice all = WholeSlice({view.shape, view.shape + view.ndim});
  RETURN_IF_ERROR(device->Read(view, all, 0, *count, &values));
  TensorView copy = view;
  copy.data = values.data();
  copy.strides = nullptr;
  return cpu::ComputeQuantiles(copy, min, max, quantiles)
             ? absl::OkStatus()
             : absl::UnimplementedError("the tensor has no quantiles");
}

}  // namespace graphdbg::runtime
