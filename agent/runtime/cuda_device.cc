#include "agent/runtime/cuda_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/kernels/cuda/image.h"
#include "agent/runtime/cuda_context.h"
#include "agent/runtime/cuda_readable.h"
#include "agent/tensor/complex_parts.h"
#include "agent/tensor/layout.h"

namespace graphdbg::runtime {
namespace {

constexpr uint32_t kMaxBlocks = 1024;
// Blocks that a multiprocessor works on at a time, as in kernels.cu.
constexpr uint32_t kBlocksPerMultiprocessor = 3;
// What one block is started for.
constexpr int64_t kBytesPerBlock = 64 << 10;

// Of cuda.h.
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
    return absl::UnavailableError("this build of graphdbg has no kernels");
  }
  const auto devices = (*driver)->Devices();
  if (!devices.ok()) return devices.status();
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices->size()) {
    return absl::UnavailableError(absl::StrCat("there is no GPU ", ordinal));
  }
  const CudaDriver::DeviceInfo& info = (*devices)[ordinal];
  if (!cuda::RunsOn(built, info.architecture)) {
    return absl::UnavailableError(
        absl::StrCat("no kernel of this build runs on ", info.name, " (sm_",
                     info.architecture, ")"));
  }
  int device = 0;
  absl::Status status =
      (*driver)->Check((*driver)->DeviceGet(&device, ordinal), "cuDeviceGet");
  if (!status.ok()) return status;
  std::unique_ptr<CudaDevice> opened(
      new CudaDevice(*driver, device, info.multiprocessors));
  status = opened->Prepare();
  if (!status.ok()) return status;
  return opened;
}

absl::Status CudaDevice::Prepare() {
  absl::Status status =
      driver_->Check(driver_->DevicePrimaryCtxRetain(&context_, device_),
                     "cuDevicePrimaryCtxRetain");
  if (!status.ok()) return status;
  copies_.set_context(context_);
  const CudaContext context(*driver_, context_);
  status = module_.Load();
  if (!status.ok()) return status;
  status =
      driver_->Check(driver_->StreamCreate(&own_stream_, kStreamNonBlocking),
                     "cuStreamCreate");
  if (!status.ok()) return status;
  status = driver_->Check(driver_->EventCreate(&copied_, kEventDisableTiming),
                          "cuEventCreate");
  return status.ok() ? arena_.Allocate(own_stream_) : status;
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  {
    const CudaContext context(*driver_, context_);
    copies_.FreeAll();
    if (own_stream_ != nullptr) driver_->StreamDestroy(own_stream_);
    if (copied_ != nullptr) driver_->EventDestroy(copied_);
    arena_.Release();
    module_.Unload();
  }
  driver_->DevicePrimaryCtxRelease(device_);
}

int64_t CudaDevice::arena_bytes() const { return arena_.bytes(); }

uint32_t CudaDevice::BlocksFor(int64_t bytes) const {
  return static_cast<uint32_t>(std::clamp<int64_t>(
      (bytes + kBytesPerBlock - 1) / kBytesPerBlock, 1, max_blocks_));
}

absl::Status CudaDevice::TakeSlot(uint32_t blocks, Ticket* ticket) {
  return failure_.ok() ? arena_.Take(blocks, ticket) : failure_;
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
  absl::Status status = TakeSlot(blocks, ticket);
  if (!status.ok()) return status;
  item.reduction = arena_.ReductionOf(*ticket);
  item.range_start = start;
  item.range_end = end;
  status = module_.Launch(cuda::KernelName("Strided", view.dtype), blocks,
                          &item, stream);
  if (!status.ok()) {
    arena_.GiveBack(*ticket);
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
  std::lock_guard<std::mutex> lock(mu_);
  std::map<DType, cuda::Batch> batches;
  absl::Status status;
  bool under_way = false;
  for (size_t i = 0; i < views.size() && status.ok(); ++i) {
    const Layout& layout = layouts[i];
    Ticket* const ticket = &(*tickets)[i];
    ticket->multiplicity = static_cast<uint64_t>(layout.multiplicity);
    if (layout.count == 0) continue;
    if (!layout.is_one_run()) {
      TensorView view;
      view.dtype = dtypes[i];
      status = LaunchStrided(view, layout, 0, 0, stream, ticket);
      under_way |= status.ok();
      continue;
    }
    const uint32_t blocks =
        BlocksFor(layout.count * static_cast<int64_t>(ItemSize(dtypes[i])));
    status = TakeSlot(blocks, ticket);
    if (!status.ok()) break;
    cuda::Batch& batch = batches[dtypes[i]];
    batch.items[batch.count++] = {layout.base,
                                  static_cast<uint64_t>(layout.count),
                                  arena_.ReductionOf(*ticket), 0, blocks};
    if (batch.count < cuda::kMaxItems) continue;
    status = LaunchBatch(dtypes[i], &batch, stream);
    under_way |= status.ok();
    batch.count = 0;
  }
  for (auto& [dtype, batch] : batches) {
    if (status.ok() && batch.count > 0) {
      status = LaunchBatch(dtype, &batch, stream);
      under_way |= status.ok();
    }
  }
  if (status.ok()) return status;
  // What was launched already still writes to its slots, so these stay taken
  // until it has.
  if (!under_way || driver_->StreamSynchronize(stream) == kCudaSuccess) {
    for (const Ticket& ticket : *tickets) arena_.GiveBack(ticket);
  }
  tickets->clear();
  return status;
}

bool CudaDevice::Done(const Ticket& ticket) const {
  return ticket.slot < 0 || broken_ || arena_.Arrived(ticket);
}

Statistics CudaDevice::Take(const Ticket& ticket) {
  if (ticket.slot < 0) return ticket.known;
  // What is still under way keeps its slot.
  if (!arena_.Arrived(ticket)) return Statistics();
  const cuda::Partial sums = arena_.ResultOf(ticket).statistics;
  arena_.GiveBack(ticket);
  return cuda::ToStatistics(sums, ticket.multiplicity);
}

absl::Status CudaDevice::failure() {
  if (!broken_) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mu_);
  return failure_;
}

absl::Status CudaDevice::CheckWait(int result, const char* what) {
  absl::Status status = driver_->Check(result, what);
  if (status.ok()) return status;
  // Errors of kernels, the program's among them, stay with the context.
  std::lock_guard<std::mutex> lock(mu_);
  if (failure_.ok()) failure_ = status;
  broken_ = true;
  return status;
}

absl::Status CudaDevice::Await(const Ticket& ticket, Stream stream,
                               cuda::Result* result) {
  absl::Status status = Synchronize(stream);
  if (!status.ok()) return status;
  if (!arena_.Arrived(ticket)) {
    return absl::InternalError("a kernel ended without a result");
  }
  *result = arena_.ResultOf(ticket);
  arena_.GiveBack(ticket);
  return status;
}

absl::Status CudaDevice::Measure(const TensorView& view, Stream stream,
                                 Statistics* statistics) {
  std::vector<Ticket> tickets;
  absl::Status status = Launch({view}, stream, &tickets);
  if (!status.ok()) return status;
  if (tickets[0].slot < 0) {
    *statistics = tickets[0].known;
    return absl::OkStatus();
  }
  cuda::Result result;
  status = Await(tickets[0], stream, &result);
  if (status.ok()) {
    *statistics =
        cuda::ToStatistics(result.statistics, tickets[0].multiplicity);
  }
  return status;
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
  absl::Status status;
  {
    const CudaContext context(*driver_, context_);
    std::lock_guard<std::mutex> lock(mu_);
    status = LaunchStrided(view, *layout, start, end, stream, &ticket);
  }
  if (!status.ok()) return status;
  cuda::Result result;
  status = Await(ticket, stream, &result);
  if (!status.ok()) return status;
  *count = result.statistics.in_range_count *
           static_cast<uint64_t>(layout->multiplicity);
  return status;
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
  absl::Status status;
  {
    const CudaContext context(*driver_, context_);
    std::lock_guard<std::mutex> lock(mu_);
    status = AwaitCopies(stream);
    if (status.ok()) status = TakeSlot(blocks, &ticket);
    if (!status.ok()) return status;
    item.reduction = arena_.ReductionOf(ticket);
    status = module_.Launch(cuda::KernelName("Pair", now.dtype), blocks, &item,
                            stream);
    if (!status.ok()) arena_.GiveBack(ticket);
  }
  if (!status.ok()) return status;
  cuda::Result result;
  status = Await(ticket, stream, &result);
  if (!status.ok()) return status;
  *statistics = cuda::ToPairStatistics(result.pair);
  *changed = result.pair.changed_count;
  return status;
}

absl::Status CudaDevice::Synchronize(Stream stream) {
  const CudaContext context(*driver_, context_);
  int capturing = 0;
  const int asked = driver_->StreamIsCapturing(stream, &capturing);
  // To wait would end the recording.
  if (asked == kCudaCaptureImplicit || capturing != 0) {
    return absl::FailedPreconditionError("the stream records a graph");
  }
  return CheckWait(driver_->StreamSynchronize(stream), "cuStreamSynchronize");
}

absl::Status CudaDevice::SynchronizeAll() {
  const CudaContext context(*driver_, context_);
  // Fails while a graph is captured, which breaks nothing.
  return driver_->Check(driver_->CtxSynchronize(), "cuCtxSynchronize");
}

bool CudaDevice::Capturing(Stream stream) {
  const CudaContext context(*driver_, context_);
  int status = 0;
  // The default stream of a thread that must not use it is an error.
  return driver_->StreamIsCapturing(stream, &status) != kCudaSuccess ||
         status != 0;
}

}  // namespace graphdbg::runtime
