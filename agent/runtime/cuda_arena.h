// Memory for the results of kernels.
#ifndef AGENT_RUNTIME_CUDA_ARENA_H_
#define AGENT_RUNTIME_CUDA_ARENA_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "agent/base/mutex.h"
#include "agent/kernels/cuda/work.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Allocated once: a few MiB of device memory and of pinned host memory. Kernels
// write results to the latter, so that checking for a result needs no call to
// the driver. Slots may be acquired and released on any thread.
class CudaArena {
 public:
  // Size of each staging area.
  static constexpr int64_t kStagingBytes = 1 << 20;

  // `max_blocks` is the maximum number of blocks of a launch.
  CudaArena(const CudaDriver* driver, uint32_t max_blocks)
      : driver_(driver), max_blocks_(max_blocks) {}

  // The device's context must be current. Waits for `stream`, which belongs to
  // it.
  absl::Status Allocate(Stream stream);
  // Must also be called if Allocate() failed.
  void Free();

  // Fills the ticket for a launch of `blocks` blocks. Returns
  // RESOURCE_EXHAUSTED if too many results are pending.
  absl::Status Acquire(uint32_t blocks, Ticket* ticket);
  void Release(const Ticket& ticket);

  // The memory in which a ticket's kernel combines its sums.
  cuda::Reduction ReductionOf(const Ticket& ticket) const;
  bool Arrived(const Ticket& ticket) const;
  // Requires Arrived(ticket).
  cuda::Result ResultOf(const Ticket& ticket) const;

  uint64_t device_staging() const { return staging_; }
  char* host_staging() const { return host_staging_; }
  // Size of the device memory.
  int64_t bytes() const;

 private:
  size_t partials_bytes() const;

  const CudaDriver* const driver_;
  const uint32_t max_blocks_;
  // Device memory: partials, counters of finished blocks, staging. Host memory:
  // result slots, staging.
  uint64_t arena_ = 0;
  uint64_t finished_blocks_ = 0;
  uint64_t staging_ = 0;
  cuda::ResultSlot* slots_ = nullptr;
  uint64_t device_slots_ = 0;
  char* host_staging_ = nullptr;

  Mutex mu_;
  std::vector<int32_t> free_slots_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<int32_t> free_partials_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t sequence_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_ARENA_H_
