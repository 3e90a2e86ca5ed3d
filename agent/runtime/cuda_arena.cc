#include "agent/runtime/cuda_arena.h"

#include <algorithm>

#include "agent/kernels/cuda/launch.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

// Pending results, and pending results of tensors that need several blocks.
constexpr int32_t kSlots = 8192;
constexpr int32_t kPartialSets = 128;
constexpr size_t kCounterBytes = kSlots * sizeof(uint32_t);

// CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP of cuda.h.
constexpr unsigned kHostPortable = 1;
constexpr unsigned kHostMapped = 2;

void* PointerTo(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

size_t CudaArena::partials_bytes() const {
  return size_t{kPartialSets} * max_blocks_ * cuda::kMaxPartialBytes;
}

int64_t CudaArena::bytes() const {
  return static_cast<int64_t>(partials_bytes() + kCounterBytes) + kStagingBytes;
}

absl::Status CudaArena::Allocate(Stream stream) {
  void* host_slots = nullptr;
  void* host_staging = nullptr;
  RETURN_IF_ERROR(driver_->Check(
      driver_->MemAlloc(&arena_, static_cast<size_t>(bytes())), "cuMemAlloc"));
  finished_blocks_ = arena_ + partials_bytes();
  staging_ = finished_blocks_ + kCounterBytes;
  // The default stream would invalidate a capture on another stream.
  RETURN_IF_ERROR(driver_->Check(
      driver_->MemsetD8Async(finished_blocks_, 0, kCounterBytes, stream),
      "cuMemsetD8Async"));
  RETURN_IF_ERROR(driver_->Check(driver_->StreamSynchronize(stream),
                                 "cuStreamSynchronize"));
  RETURN_IF_ERROR(driver_->Check(
      driver_->MemHostAlloc(&host_slots, kSlots * sizeof(cuda::ResultSlot),
                            kHostPortable | kHostMapped),
      "cuMemHostAlloc"));
  slots_ = static_cast<cuda::ResultSlot*>(host_slots);
  RETURN_IF_ERROR(driver_->Check(
      driver_->MemHostGetDevicePointer(&device_slots_, slots_, 0),
      "cuMemHostGetDevicePointer"));
  RETURN_IF_ERROR(driver_->Check(
      driver_->MemHostAlloc(&host_staging, kStagingBytes, kHostPortable),
      "cuMemHostAlloc"));
  host_staging_ = static_cast<char*>(host_staging);
  std::fill_n(slots_, kSlots, cuda::ResultSlot{});
  MutexLock lock(&mu_);
  for (int32_t i = kSlots; i-- > 0;) free_slots_.push_back(i);
  for (int32_t i = kPartialSets; i-- > 0;) free_partials_.push_back(i);
  return absl::OkStatus();
}

void CudaArena::Free() {
  if (arena_ != 0) driver_->MemFree(arena_);
  if (slots_ != nullptr) driver_->MemFreeHost(slots_);
  if (host_staging_ != nullptr) driver_->MemFreeHost(host_staging_);
}

absl::Status CudaArena::Acquire(uint32_t blocks, Ticket* ticket) {
  MutexLock lock(&mu_);
  const bool large = blocks > 1;
  if (free_slots_.empty() || (large && free_partials_.empty())) {
    return absl::ResourceExhaustedError("too many results are pending");
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

void CudaArena::Release(const Ticket& ticket) {
  MutexLock lock(&mu_);
  if (ticket.slot >= 0) free_slots_.push_back(ticket.slot);
  if (ticket.partials >= 0) free_partials_.push_back(ticket.partials);
}

cuda::Reduction CudaArena::ReductionOf(const Ticket& ticket) const {
  cuda::Reduction reduction = {};
  if (ticket.partials >= 0) {
    reduction.partials =
        PointerTo(arena_ + static_cast<uint64_t>(ticket.partials) *
                               max_blocks_ * cuda::kMaxPartialBytes);
  }
  const auto slot = static_cast<uint64_t>(ticket.slot);
  reduction.finished_blocks = static_cast<uint32_t*>(
      PointerTo(finished_blocks_ + slot * sizeof(uint32_t)));
  reduction.result = static_cast<cuda::ResultSlot*>(
      PointerTo(device_slots_ + slot * sizeof(cuda::ResultSlot)));
  reduction.sequence = ticket.sequence;
  return reduction;
}

bool CudaArena::Arrived(const Ticket& ticket) const {
  return __atomic_load_n(&slots_[ticket.slot].sequence, __ATOMIC_ACQUIRE) ==
         ticket.sequence;
}

cuda::Result CudaArena::ResultOf(const Ticket& ticket) const {
  return slots_[ticket.slot];
}

}  // namespace graphdbg::runtime
