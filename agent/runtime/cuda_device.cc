#include "agent/runtime/cuda_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/kernels/cuda/image.h"
#include "agent/runtime/cuda_context.h"
#include "agent/tensor/complex_parts.h"
#include "agent/tensor/layout.h"

namespace graphdbg::runtime {
namespace {

// Results under way, and large tensors among them.
constexpr int32_t kSlots = 8192;
constexpr int32_t kPartialSets = 128;
constexpr uint32_t kMostBlocks = 1024;
// Blocks that a multiprocessor works on at a time, as in kernels.cu.
constexpr uint32_t kBlocksPerMultiprocessor = 3;
// What one block is started for.
constexpr int64_t kBytesPerBlock = 64 << 10;
constexpr int64_t kStagingBytes = 1 << 20;

// Of cuda.h.
constexpr unsigned kHostPortable = 1;
constexpr unsigned kHostMapped = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;

absl::Status Unmeasurable() {
  return absl::UnimplementedError("a tensor of this kind cannot be measured");
}

// A GPU reads only what is aligned as its type, and otherwise ends the
// program's context.
bool IsAligned(const TensorView& view) {
  const size_t size = std::max<size_t>(ItemSize(view.dtype), 1);
  return reinterpret_cast<uintptr_t>(view.data) % size == 0;
}

}  // namespace

CudaDevice::CudaDevice(const CudaDriver* driver, int device,
                       int multiprocessors)
    : driver_(driver),
      device_(device),
      max_blocks_(std::clamp(
          static_cast<uint32_t>(multiprocessors) * kBlocksPerMultiprocessor,
          uint32_t{1}, kMostBlocks)),
      copies_(driver) {}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(int ordinal) {
  const auto& driver = CudaDriver::Get();
  if (!driver.ok()) {
    return absl::UnavailableError(driver.status().message());
  }
  const auto built = cuda::ArchitecturesOf(cuda::KernelImage());
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
  const auto check = [this](int result, const char* what) {
    return driver_->Check(result, what);
  };
  absl::Status status =
      check(driver_->DevicePrimaryCtxRetain(&context_, device_),
            "cuDevicePrimaryCtxRetain");
  if (!status.ok()) return status;
  copies_.set_context(context_);
  const CudaContext context(*driver_, context_);
  const size_t partials =
      size_t{kPartialSets} * max_blocks_ * cuda::kMaxPartialBytes;
  const size_t counters = kSlots * sizeof(uint32_t);
  const size_t slots = kSlots * sizeof(cuda::ResultSlot);
  void* host_slots = nullptr;
  void* host_staging = nullptr;
  const auto step = [&](auto call, const char* what) {
    if (status.ok()) status = check(call(), what);
  };
  step(
      [&] {
        return driver_->ModuleLoadData(&module_, cuda::KernelImage().data);
      },
      "cuModuleLoadData");
  step([&] { return driver_->StreamCreate(&own_stream_, kStreamNonBlocking); },
       "cuStreamCreate");
  step([&] { return driver_->EventCreate(&copied_, kEventDisableTiming); },
       "cuEventCreate");
  step([&] { return driver_->MemAlloc(&arena_, arena_bytes()); }, "cuMemAlloc");
  // Not on the default stream: that would end a capture on another.
  step(
      [&] {
        return driver_->MemsetD8Async(arena_ + partials, 0, counters,
                                      own_stream_);
      },
      "cuMemsetD8Async");
  step([&] { return driver_->StreamSynchronize(own_stream_); },
       "cuStreamSynchronize");
  step(
      [&] {
        return driver_->MemHostAlloc(&host_slots, slots,
                                     kHostPortable | kHostMapped);
      },
      "cuMemHostAlloc");
  slots_ = static_cast<cuda::ResultSlot*>(host_slots);
  step(
      [&] {
        return driver_->MemHostGetDevicePointer(&device_slots_, slots_, 0);
      },
      "cuMemHostGetDevicePointer");
  step(
      [&] {
        return driver_->MemHostAlloc(&host_staging, kStagingBytes,
                                     kHostPortable);
      },
      "cuMemHostAlloc");
  host_staging_ = static_cast<char*>(host_staging);
  if (!status.ok()) return status;
  std::fill_n(slots_, kSlots, cuda::ResultSlot{});
  arrived_ = arena_ + partials;
  staging_ = arrived_ + counters;
  for (int32_t i = kSlots; i-- > 0;) free_slots_.push_back(i);
  for (int32_t i = kPartialSets; i-- > 0;) free_partials_.push_back(i);
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  {
    const CudaContext context(*driver_, context_);
    copies_.FreeAll();
    if (own_stream_ != nullptr) driver_->StreamDestroy(own_stream_);
    if (copied_ != nullptr) driver_->EventDestroy(copied_);
    if (arena_ != 0) driver_->MemFree(arena_);
    if (slots_ != nullptr) driver_->MemFreeHost(slots_);
    if (host_staging_ != nullptr) driver_->MemFreeHost(host_staging_);
    if (module_ != nullptr) driver_->ModuleUnload(module_);
  }
  driver_->DevicePrimaryCtxRelease(device_);
}

int64_t CudaDevice::arena_bytes() const {
  return static_cast<int64_t>(size_t{kPartialSets} * max_blocks_ *
                              cuda::kMaxPartialBytes) +
         kSlots * static_cast<int64_t>(sizeof(uint32_t)) + kStagingBytes;
}

uint32_t CudaDevice::BlocksFor(int64_t bytes) const {
  return static_cast<uint32_t>(std::clamp<int64_t>(
      (bytes + kBytesPerBlock - 1) / kBytesPerBlock, 1, max_blocks_));
}

absl::Status CudaDevice::TakeSlot(uint32_t blocks, Ticket* ticket) {
  if (!failure_.ok()) return failure_;
  const bool large = blocks > 1;
  if (free_slots_.empty() || (large && free_partials_.empty())) {
    return absl::ResourceExhaustedError("too many results are under way");
  }
  ticket->slot = free_slots_.back();
  free_slots_.pop_back();
  if (large) {
    ticket->partials = free_partials_.back();
    free_partials_.pop_back();
  }
  ticket->sequence = ++sequence_;
  return absl::OkStatus();
}

void CudaDevice::Free(const Ticket& ticket) {
  if (ticket.slot >= 0) free_slots_.push_back(ticket.slot);
  if (ticket.partials >= 0) free_partials_.push_back(ticket.partials);
}

cuda::Meeting CudaDevice::MeetingOf(const Ticket& ticket) {
  const auto pointer = [](uint64_t address) {
    return reinterpret_cast<void*>(address);
  };
  cuda::Meeting meeting = {};
  if (ticket.partials >= 0) {
    meeting.partials =
        pointer(arena_ + static_cast<uint64_t>(ticket.partials) * max_blocks_ *
                             cuda::kMaxPartialBytes);
  }
  const auto slot = static_cast<uint64_t>(ticket.slot);
  meeting.arrived =
      static_cast<uint32_t*>(pointer(arrived_ + slot * sizeof(uint32_t)));
  meeting.result = static_cast<cuda::ResultSlot*>(
      pointer(device_slots_ + slot * sizeof(cuda::ResultSlot)));
  meeting.sequence = ticket.sequence;
  return meeting;
}

absl::Status CudaDevice::LaunchKernel(const std::string& name, uint32_t blocks,
                                      const void* argument, Stream stream) {
  void*& function = functions_[name];
  if (function == nullptr) {
    absl::Status status = driver_->Check(
        driver_->ModuleGetFunction(&function, module_, name.c_str()),
        "cuModuleGetFunction");
    if (!status.ok()) return status;
  }
  void* arguments[] = {const_cast<void*>(argument)};
  return driver_->Check(
      driver_->LaunchKernel(function, blocks, 1, 1, cuda::kThreadsPerBlock, 1,
                            1, 0, stream, arguments, nullptr),
      "cuLaunchKernel");
}

absl::Status CudaDevice::LaunchBatch(DType dtype, cuda::Batch* batch,
                                     Stream stream) {
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    batch->items[i].first_block = blocks;
    blocks += batch->items[i].block_count;
  }
  return LaunchKernel(cuda::KernelName("Statistics", dtype), blocks, batch,
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
  item.meeting = MeetingOf(*ticket);
  item.range_start = start;
  item.range_end = end;
  status = LaunchKernel(cuda::KernelName("Strided", view.dtype), blocks, &item,
                        stream);
  if (!status.ok()) {
    Free(*ticket);
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
    const TensorView real = ComplexParts::Apply(view) ? parts.Of(view) : view;
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
                                  MeetingOf(*ticket), 0, blocks};
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
    for (const Ticket& ticket : *tickets) Free(ticket);
  }
  tickets->clear();
  return status;
}

bool CudaDevice::Done(const Ticket& ticket) const {
  return ticket.slot < 0 || broken_ ||
         __atomic_load_n(&slots_[ticket.slot].sequence, __ATOMIC_ACQUIRE) ==
             ticket.sequence;
}

Statistics CudaDevice::Take(const Ticket& ticket) {
  if (ticket.slot < 0) return ticket.known;
  // What is still under way keeps its slot.
  if (!Done(ticket) || broken_) return Statistics();
  const cuda::Partial sums = slots_[ticket.slot].statistics;
  std::lock_guard<std::mutex> lock(mu_);
  Free(ticket);
  return cuda::ToStatistics(sums, ticket.multiplicity);
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
  if (!Done(ticket)) {
    return absl::InternalError("a kernel ended without a result");
  }
  *result = slots_[ticket.slot];
  std::lock_guard<std::mutex> lock(mu_);
  Free(ticket);
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
    item.meeting = MeetingOf(ticket);
    status = LaunchKernel(cuda::KernelName("Pair", now.dtype), blocks, &item,
                          stream);
    if (!status.ok()) Free(ticket);
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

absl::Status CudaDevice::Read(const TensorView& view, const Slice& slice,
                              int64_t first, int64_t count, std::string* out) {
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  cuda::GatherItem item;
  if (!cuda::FillGather(view, slice, &item)) return Unmeasurable();
  const bool side_by_side =
      item.grid.ndim == 0 ||
      (item.grid.ndim == 1 && item.strides[0] == item_size);
  if (!side_by_side && !IsAligned(view)) return Unmeasurable();
  const CudaContext context(*driver_, context_);
  std::lock_guard<std::mutex> staging(staging_mu_);
  while (count > 0) {
    const int64_t piece = std::min(count, kStagingBytes / item_size);
    const auto bytes = static_cast<size_t>(piece * item_size);
    absl::Status status;
    uint64_t from = staging_;
    if (side_by_side) {
      from = reinterpret_cast<uint64_t>(item.data) +
             static_cast<uint64_t>(first * item_size);
    } else {
      item.out = reinterpret_cast<void*>(staging_);
      item.first = static_cast<uint64_t>(first);
      item.count = static_cast<uint64_t>(piece);
      std::lock_guard<std::mutex> lock(mu_);
      status = LaunchKernel(cuda::GatherName(view.dtype),
                            BlocksFor(static_cast<int64_t>(bytes)), &item,
                            own_stream_);
    }
    if (status.ok()) {
      status = driver_->Check(
          driver_->MemcpyDtoHAsync(host_staging_, from, bytes, own_stream_),
          "cuMemcpyDtoHAsync");
    }
    if (status.ok()) {
      status = CheckWait(driver_->StreamSynchronize(own_stream_),
                         "cuStreamSynchronize");
    }
    if (!status.ok()) return status;
    out->append(host_staging_, bytes);
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
  absl::StatusOr<std::shared_ptr<DeviceCopy>> copy = copies_.Take(bytes);
  if (!copy.ok() || bytes == 0) return copy;
  const auto address = reinterpret_cast<uint64_t>((*copy)->data());
  std::lock_guard<std::mutex> lock(mu_);
  absl::Status status = AwaitCopies(stream);
  if (status.ok() && one_run) {
    status =
        driver_->Check(driver_->MemcpyDtoDAsync(
                           address, reinterpret_cast<uint64_t>(layout->base),
                           static_cast<size_t>(bytes), stream),
                       "cuMemcpyDtoDAsync");
  } else if (status.ok()) {
    const Slice all = WholeSlice({view.shape, view.shape + view.ndim});
    cuda::GatherItem item;
    if (!cuda::FillGather(view, all, &item)) return Unmeasurable();
    item.out = reinterpret_cast<void*>(address);
    status = LaunchKernel(cuda::GatherName(view.dtype), BlocksFor(bytes), &item,
                          stream);
  }
  if (status.ok()) {
    status =
        driver_->Check(driver_->EventRecord(copied_, stream), "cuEventRecord");
  }
  if (!status.ok()) return status;
  return copy;
}

absl::Status CudaDevice::AwaitCopies(Stream stream) {
  return driver_->Check(driver_->StreamWaitEvent(stream, copied_, 0),
                        "cuStreamWaitEvent");
}

}  // namespace graphdbg::runtime
