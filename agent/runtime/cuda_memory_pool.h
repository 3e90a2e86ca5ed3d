// GPU memory for copies of tensors.
#ifndef AGENT_RUNTIME_CUDA_MEMORY_POOL_H_
#define AGENT_RUNTIME_CUDA_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "agent/base/mutex.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Reuses released memory, because freeing it would wait for the whole device.
// Keeps up to as much spare memory as is in use, and a little more.
// Thread-safe.
class CudaMemoryPool {
 public:
  explicit CudaMemoryPool(const CudaDriver* driver) : driver_(driver) {}

  // The context of the memory. Must be called once, before anything else.
  void set_context(void* context) { context_ = context; }

  // The memory returns to the pool, which must outlive it, when the last
  // reference is dropped. The context must be current. Returns
  // RESOURCE_EXHAUSTED if the device is out of memory.
  absl::StatusOr<std::shared_ptr<DeviceCopy>> Allocate(int64_t bytes);
  // Frees the spare memory before the device is closed. The context must be
  // current.
  void FreeAll();

 private:
  class Memory;

  void Release(uint64_t address, size_t bytes);

  const CudaDriver* const driver_;
  void* context_ = nullptr;
  Mutex mu_;
  // Addresses by size.
  std::multimap<size_t, uint64_t> spare_ GRAPHDBG_GUARDED_BY(mu_);
  size_t spare_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t used_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_MEMORY_POOL_H_
