// Reading values from a GPU, and copying them on the device.
#include <algorithm>

#include "agent/runtime/cuda_context.h"
#include "agent/runtime/cuda_device.h"
#include "agent/runtime/cuda_readable.h"
#include "agent/tensor/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {

absl::Status CudaDevice::Read(const TensorView& view, const Slice& slice,
                              int64_t first, int64_t count, std::string* out) {
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  cuda::GatherItem item;
  if (!cuda::FillGather(view, slice, &item)) return Unmeasurable();
  const bool contiguous = item.grid.ndim == 0 ||
                          (item.grid.ndim == 1 && item.strides[0] == item_size);
  if (!contiguous && !IsAligned(view)) return Unmeasurable();
  const CudaContext context(*driver_, context_);
  MutexLock staging_lock(&staging_mu_);
  while (count > 0) {
    const int64_t piece = std::min(count, CudaArena::kStagingBytes / item_size);
    const auto bytes = static_cast<size_t>(piece * item_size);
    uint64_t from = arena_.device_staging();
    if (contiguous) {
      from = reinterpret_cast<uint64_t>(item.data) +
             static_cast<uint64_t>(first * item_size);
    } else {
      item.out = reinterpret_cast<void*>(arena_.device_staging());
      item.first = static_cast<uint64_t>(first);
      item.count = static_cast<uint64_t>(piece);
      MutexLock lock(&mu_);
      RETURN_IF_ERROR(module_.Launch(cuda::GatherName(view.dtype),
                                     BlocksFor(static_cast<int64_t>(bytes)),
                                     &item, own_stream_));
    }
    RETURN_IF_ERROR(
        driver_->Check(driver_->MemcpyDtoHAsync(arena_.host_staging(), from,
                                                bytes, own_stream_),
                       "cuMemcpyDtoHAsync"));
    RETURN_IF_ERROR(CheckWait(driver_->StreamSynchronize(own_stream_),
                              "cuStreamSynchronize"));
    out->append(arena_.host_staging(), bytes);
    first += piece;
    count -= piece;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<DeviceCopy>> CudaDevice::Copy(
    const TensorView& view, Stream stream) {
  const std::optional<Layout> layout = Layout::Of(view);
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  if (!layout || item_size == 0) return Unmeasurable();
  const bool one_run = layout->is_one_run();
  if (!one_run && !IsAligned(view)) return Unmeasurable();
  const int64_t bytes =
      one_run ? layout->count * item_size : view.byte_count().value_or(0);
  const CudaContext context(*driver_, context_);
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceCopy> copy, copies_.Allocate(bytes));
  if (bytes == 0) return copy;
  const auto address = reinterpret_cast<uint64_t>(copy->data());
  MutexLock lock(&mu_);
  RETURN_IF_ERROR(WaitForCopies(stream));
  if (one_run) {
    RETURN_IF_ERROR(driver_->Check(
        driver_->MemcpyDtoDAsync(address,
                                 reinterpret_cast<uint64_t>(layout->base),
                                 static_cast<size_t>(bytes), stream),
        "cuMemcpyDtoDAsync"));
  } else {
    const Slice all = WholeSlice({view.shape, view.shape + view.ndim});
    cuda::GatherItem item;
    if (!cuda::FillGather(view, all, &item)) return Unmeasurable();
    item.out = reinterpret_cast<void*>(address);
    RETURN_IF_ERROR(module_.Launch(cuda::GatherName(view.dtype),
                                   BlocksFor(bytes), &item, stream));
  }
  RETURN_IF_ERROR(
      driver_->Check(driver_->EventRecord(copied_, stream), "cuEventRecord"));
  return copy;
}

absl::Status CudaDevice::WaitForCopies(Stream stream) {
  return driver_->Check(driver_->StreamWaitEvent(stream, copied_, 0),
                        "cuStreamWaitEvent");
}

}  // namespace graphdbg::runtime
