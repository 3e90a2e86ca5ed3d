#include "agent/runtime/accelerator.h"

#include <algorithm>

#include "agent/kernels/cpu/pairs.h"

namespace graphdbg::runtime {

absl::Status CompareOnHost(Accelerator* device, const TensorView& now,
                           const TensorView& previous,
                           const Tolerance& tolerance, Stream stream,
                           PairStatistics* statistics, uint64_t* changed) {
  const std::optional<int64_t> count = now.element_count();
  if (!count || !HasStatistics(now.dtype) || now.dtype != previous.dtype ||
      now.ndim != previous.ndim ||
      !std::equal(now.shape, now.shape + now.ndim, previous.shape)) {
    return absl::UnimplementedError("the values cannot be compared");
  }
  std::string values;
  absl::Status status = device->Synchronize(stream);
  if (status.ok() && *count > 0) {
    status = device->Read(now, WholeSlice({now.shape, now.shape + now.ndim}), 0,
                          *count, &values);
  }
  if (!status.ok()) return status;
  TensorView copy = now;
  copy.data = values.data();
  copy.strides = nullptr;
  cpu::ComparePair(copy, previous, statistics);
  *changed = cpu::CountChanged(copy, previous, tolerance).value_or(0);
  return status;
}

}  // namespace graphdbg::runtime
