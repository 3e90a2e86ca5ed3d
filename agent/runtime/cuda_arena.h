// The memory that results of kernels arrive in.
#ifndef AGENT_RUNTIME_CUDA_ARENA_H_
#define AGENT_RUNTIME_CUDA_ARENA_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "agent/kernels/cuda/work.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Taken once: a few MiB of the device's memory and as much pinned memory of the
// host. Kernels write results to the latter, so that to look whether one is
// there asks the driver nothing. Slots are for any thread.
class CudaArena {
 public:
  // Of each staging area.
  static constexpr int64_t kStagingBytes = 1 << 20;

  // `max_blocks`: that any kernel is started with.
  CudaArena(const CudaDriver* driver, uint32_t max_blocks)
      : driver_(driver), max_blocks_(max_blocks) {}

  // In the context; `stream` belongs to it and is waited for.
  absl::Status Allocate(Stream stream);
  // Also after an error.
  void Release();

  // Fills the ticket of a result of so many blocks; RESOURCE_EXHAUSTED if too
  // many are under way.
  absl::Status Take(uint32_t blocks, Ticket* ticket);
  void GiveBack(const Ticket& ticket);

  // Where the kernel of a ticket works.
  cuda::Reduction ReductionOf(const Ticket& ticket) const;
  bool Arrived(const Ticket& ticket) const;
  // Which has arrived.
  cuda::Result ResultOf(const Ticket& ticket) const;

  uint64_t device_staging() const { return staging_; }
  char* host_staging() const { return host_staging_; }
  // Of the device's memory.
  int64_t bytes() const;

 private:
  size_t partials_bytes() const;

  const CudaDriver* const driver_;
  const uint32_t max_blocks_;
  // The device's: partials, counters of arrived blocks, staging. The host's:
  // result slots, staging.
  uint64_t arena_ = 0;
  uint64_t arrived_ = 0;
  uint64_t staging_ = 0;
  cuda::ResultSlot* slots_ = nullptr;
  uint64_t device_slots_ = 0;
  char* host_staging_ = nullptr;

  std::mutex mu_;
  // Guarded by mu_.
  std::vector<int32_t> free_slots_;
  std::vector<int32_t> free_partials_;
  uint64_t sequence_ = 0;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_ARENA_H_
