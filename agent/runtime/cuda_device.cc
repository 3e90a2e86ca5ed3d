#include "agent/runtime/cuda_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/kernels/cuda/image.h"
#include "agent/runtime/cuda_context.h"
#include "agent/runtime/cuda_readable.h"
#include "agent/tensor/complex_parts.h"
#include "agent/tensor/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

constexpr uint32_t kMaxBlocks = 1024;
// Resident blocks per multiprocessor, as in kernels.cu.
constexpr uint32_t kBlocksPerMultiprocessor = 3;
// Amount of data per block.
constexpr int64_t kBytesPerBlock = 64 << 10;

// CU_STREAM_NON_BLOCKING and CU_EVENT_DISABLE_TIMING of cuda.h.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;

}  // namespace

CudaDevice::CudaDevice(const CudaDriver* driver, int device,
                       int multiprocessors)
    : driver_(driver),
      device_(device),
      max_blocks_(std::clamp(
          static_cast<uint32_t>(multiprocessors) * kBlocksPerMultiprocessor,
          uint32_t{1}, kMaxBlocks)),
      module_(driver),
      arena_(driver, max_blocks_),
      copies_(driver) {}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(int ordinal) {
  const auto& driver = CudaDriver::Get();
  if (!driver.ok()) {
    return absl::UnavailableError(driver.status().message());
  }
  const auto built = cuda::Architectures(cuda::KernelImage());
  if (built.empty()) {
    return absl::UnavailableError(
        "this build of graphdbg contains no GPU kernels");
  }
  ASSIGN_OR_RETURN(const std::vector<CudaDriver::DeviceInfo> devices,
                   (*driver)->Devices());
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) {
    return absl::UnavailableError(
        absl::StrCat("GPU ", ordinal, " does not exist"));
  }
  const CudaDriver::DeviceInfo& info = devices[ordinal];
  if (!cuda::RunsOn(built, info.architecture)) {
    return absl::UnavailableError(
        absl::StrCat("this build contains no kernel for ", info.name, " (sm_",
                     info.architecture, ")"));
  }
  int device = 0;
  RETURN_IF_ERROR(
      (*driver)->Check((*driver)->DeviceGet(&device, ordinal), "cuDeviceGet"));
  std::unique_ptr<CudaDevice> opened(
      new CudaDevice(*driver, device, info.multiprocessors));
  RETURN_IF_ERROR(opened->Prepare());
  return opened;
}

absl::Status CudaDevice::Prepare() {
  RETURN_IF_ERROR(
      driver_->Check(driver_->DevicePrimaryCtxRetain(&context_, device_),
                     "cuDevicePrimaryCtxRetain"));
  copies_.set_context(context_);
  const CudaContext context(*driver_, context_);
  RETURN_IF_ERROR(module_.Load());
  RETURN_IF_ERROR(
      driver_->Check(driver_->StreamCreate(&own_stream_, kStreamNonBlocking),
                     "cuStreamCreate"));
  RETURN_IF_ERROR(driver_->Check(
      driver_->EventCreate(&copied_, kEventDisableTiming), "cuEventCreate"));
  return arena_.Allocate(own_stream_);
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  {
    const CudaContext context(*driver_, context_);
    copies_.FreeAll();
    if (own_stream_ != nullptr) driver_->StreamDestroy(own_stream_);
    if (copied_ != nullptr) driver_->EventDestroy(copied_);
    arena_.Free();
    module_.Unload();
  }
  driver_->DevicePrimaryCtxRelease(device_);
}

int64_t CudaDevice::arena_bytes() const { return arena_.bytes(); }

uint32_t CudaDevice::BlocksFor(int64_t bytes) const {
  return static_cast<uint32_t>(std::clamp<int64_t>(
      (bytes + kBytesPerBlock - 1) / kBytesPerBlock, 1, max_blocks_));
}

absl::Status CudaDevice::AcquireSlot(uint32_t blocks, Ticket* ticket) {
  return failure_.ok() ? arena_.Acquire(blocks, ticket) : failure_;
}

absl::Status CudaDevice::LaunchBatch(DType dtype, cuda::Batch* batch,
                                     Stream stream) {
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    batch->items[i].first_block = blocks;
    blocks += batch->items[i].block_count;
  }
  return module_.Launch(cuda::KernelName("Statistics", dtype), blocks, batch,
                        stream);
}

absl::Status CudaDevice::LaunchStrided(const TensorView& view,
                                       const Layout& layout, double start,
                                       double end, Stream stream,
                                       Ticket* ticket) {
  cuda::StridedItem item;
  if (!cuda::FillStrided(layout, &item)) return Unmeasurable();
  const uint32_t blocks =
      BlocksFor(layout.count * static_cast<int64_t>(ItemSize(view.dtype)));
  RETURN_IF_ERROR(AcquireSlot(blocks, ticket));
  item.reduction = arena_.ReductionOf(*ticket);
  item.range_start = start;
  item.range_end = end;
  const absl::Status status = module_.Launch(
      cuda::KernelName("Strided", view.dtype), blocks, &item, stream);
  if (!status.ok()) {
    arena_.Release(*ticket);
    *ticket = Ticket();
  }
  return status;
}

absl::Status CudaDevice::Launch(const std::vector<TensorView>& views,
                                Stream stream, std::vector<Ticket>* tickets) {
  std::vector<Layout> layouts;
  std::vector<DType> dtypes;
  for (const TensorView& view : views) {
    ComplexParts parts;
    const TensorView real =
        ComplexParts::IsApplicable(view) ? parts.AsReal(view) : view;
    const std::optional<Layout> layout = Layout::Of(real);
    if (!layout || !HasStatistics(real.dtype) || !IsAligned(real)) {
      return Unmeasurable();
    }
    layouts.push_back(*layout);
    dtypes.push_back(real.dtype);
  }
  tickets->assign(views.size(), Ticket());
  const CudaContext context(*driver_, context_);
  MutexLock lock(&mu_);
  std::map<DType, cuda::Batch> batches;
  absl::Status status;
  bool launched = false;
  for (size_t i = 0; i < views.size() && status.ok(); ++i) {
    const Layout& layout = layouts[i];
    Ticket* const ticket = &(*tickets)[i];
    ticket->multiplicity = static_cast<uint64_t>(layout.multiplicity);
    if (layout.count == 0) continue;
    if (!layout.is_one_run()) {
      TensorView view;
      view.dtype = dtypes[i];
      status = LaunchStrided(view, layout, 0, 0, stream, ticket);
      launched |= status.ok();
      continue;
    }
    const uint32_t blocks =
        BlocksFor(layout.count * static_cast<int64_t>(ItemSize(dtypes[i])));
    status = AcquireSlot(blocks, ticket);
    if (!status.ok()) break;
    cuda::Batch& batch = batches[dtypes[i]];
    batch.items[batch.count++] = {layout.base,
                                  static_cast<uint64_t>(layout.count),
                                  arena_.ReductionOf(*ticket), 0, blocks};
    if (batch.count < cuda::kMaxItems) continue;
    status = LaunchBatch(dtypes[i], &batch, stream);
    launched |= status.ok();
    batch.count = 0;
  }
  for (auto& [dtype, batch] : batches) {
    if (status.ok() && batch.count > 0) {
      status = LaunchBatch(dtype, &batch, stream);
      launched |= status.ok();
    }
  }
  if (status.ok()) return status;
  // Kernels already launched still write to their slots, which must not be
  // released before that.
  if (!launched || driver_->StreamSynchronize(stream) == kCudaSuccess) {
    for (const Ticket& ticket : *tickets) arena_.Release(ticket);
  }
  tickets->clear();
  return status;
}

bool CudaDevice::Done(const Ticket& ticket) const {
  return ticket.slot < 0 || broken_ || arena_.Arrived(ticket);
}

Statistics CudaDevice::Take(const Ticket& ticket) {
  if (ticket.slot < 0) return ticket.known;
  // A kernel that is still running keeps its slot.
  if (!arena_.Arrived(ticket)) return Statistics();
  const cuda::Partial sums = arena_.ResultOf(ticket).statistics;
  arena_.Release(ticket);
  return cuda::ToStatistics(sums, ticket.multiplicity);
}

absl::Status CudaDevice::failure() {
  if (!broken_) return absl::OkStatus();
  MutexLock lock(&mu_);
  return failure_;
}

absl::Status CudaDevice::CheckWait(int result, const char* what) {
  absl::Status status = driver_->Check(result, what);
  if (status.ok()) return status;
  // Errors of kernels, including the program's own, corrupt the context.
  MutexLock lock(&mu_);
  if (failure_.ok()) failure_ = status;
  broken_ = true;
  return status;
}

absl::Status CudaDevice::WaitForResult(const Ticket& ticket, Stream stream,
                                       cuda::Result* result) {
  RETURN_IF_ERROR(Synchronize(stream));
  if (!arena_.Arrived(ticket)) {
    return absl::InternalError("a kernel finished without a result");
  }
  *result = arena_.ResultOf(ticket);
  arena_.Release(ticket);
  return absl::OkStatus();
}

absl::Status CudaDevice::Measure(const TensorView& view, Stream stream,
                                 Statistics* statistics) {
  std::vector<Ticket> tickets;
  RETURN_IF_ERROR(Launch({view}, stream, &tickets));
  if (tickets[0].slot < 0) {
    *statistics = tickets[0].known;
    return absl::OkStatus();
  }
  cuda::Result result;
  RETURN_IF_ERROR(WaitForResult(tickets[0], stream, &result));
  *statistics = cuda::ToStatistics(result.statistics, tickets[0].multiplicity);
  return absl::OkStatus();
}

absl::Status CudaDevice::CountInRange(const TensorView& view, double start,
                                      double end, Stream stream,
                                      uint64_t* count) {
  const std::optional<Layout> layout = Layout::Of(view);
  if (!layout || !HasStatistics(view.dtype) || !IsAligned(view)) {
    return Unmeasurable();
  }
  *count = 0;
  if (layout->count == 0) return absl::OkStatus();
  Ticket ticket;
  {
    const CudaContext context(*driver_, context_);
    MutexLock lock(&mu_);
    RETURN_IF_ERROR(LaunchStrided(view, *layout, start, end, stream, &ticket));
  }
  cuda::Result result;
  RETURN_IF_ERROR(WaitForResult(ticket, stream, &result));
  *count = result.statistics.in_range_count *
           static_cast<uint64_t>(layout->multiplicity);
  return absl::OkStatus();
}

absl::Status CudaDevice::Compare(const TensorView& now,
                                 const TensorView& previous,
                                 const Tolerance& tolerance, Stream stream,
                                 PairStatistics* statistics,
                                 uint64_t* changed) {
  const std::optional<int64_t> bytes = now.byte_count();
  cuda::PairItem item;
  if (!bytes || !HasStatistics(now.dtype) || now.dtype != previous.dtype ||
      now.ndim != previous.ndim ||
      !std::equal(now.shape, now.shape + now.ndim, previous.shape) ||
      !IsAligned(now) || !IsAligned(previous)) {
    return Unmeasurable();
  }
  *statistics = {};
  *changed = 0;
  if (*bytes == 0) return absl::OkStatus();
  if (!cuda::FillPair(now, previous, &item)) return Unmeasurable();
  cuda::SetTolerance(tolerance, &item);
  const uint32_t blocks = BlocksFor(2 * *bytes);
  Ticket ticket;
  {
    const CudaContext context(*driver_, context_);
    MutexLock lock(&mu_);
    RETURN_IF_ERROR(WaitForCopies(stream));
    RETURN_IF_ERROR(AcquireSlot(blocks, &ticket));
    item.reduction = arena_.ReductionOf(ticket);
    const absl::Status status = module_.Launch(
        cuda::KernelName("Pair", now.dtype), blocks, &item, stream);
    if (!status.ok()) {
      arena_.Release(ticket);
      return status;
    }
  }
  cuda::Result result;
  RETURN_IF_ERROR(WaitForResult(ticket, stream, &result));
  *statistics = cuda::ToPairStatistics(result.pair);
  *changed = result.pair.changed_count;
  return absl::OkStatus();
}

absl::Status CudaDevice::Synchronize(Stream stream) {
  const CudaContext context(*driver_, context_);
  int capturing = 0;
  const int asked = driver_->StreamIsCapturing(stream, &capturing);
  // Waiting would invalidate the capture.
  if (asked == kCudaCaptureImplicit || capturing != 0) {
    return absl::FailedPreconditionError("the stream is capturing a graph");
  }
  return CheckWait(driver_->StreamSynchronize(stream), "cuStreamSynchronize");
}

absl::Status CudaDevice::SynchronizeAll() {
  const CudaContext context(*driver_, context_);
  // Fails while a graph is captured, without further consequences.
  return driver_->Check(driver_->CtxSynchronize(), "cuCtxSynchronize");
}

bool CudaDevice::Capturing(Stream stream) {
  const CudaContext context(*driver_, context_);
  int status = 0;
  // The query fails if this thread must not use the default stream.
  return driver_->StreamIsCapturing(stream, &status) != kCudaSuccess ||
         status != 0;
}

}  // namespace graphdbg::runtime
