// A GPU's memory for copies of tensors.
#ifndef AGENT_RUNTIME_CUDA_MEMORY_POOL_H_
#define AGENT_RUNTIME_CUDA_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// What was given back is used again, as to free it waits for the whole device.
// Holds as much in reserve as is in use, and a little. Any thread.
class CudaMemoryPool {
 public:
  explicit CudaMemoryPool(const CudaDriver* driver) : driver_(driver) {}

  // Whose memory it is; before anything else, once.
  void set_context(void* context) { context_ = context; }

  // Goes back into the pool, which must outlive it, when it is dropped. In the
  // context. RESOURCE_EXHAUSTED if the device has no room.
  absl::StatusOr<std::shared_ptr<DeviceCopy>> Take(int64_t bytes);
  // What is in reserve, when the device is let go. In the context.
  void FreeAll();

 private:
  class Memory;

  void GiveBack(uint64_t address, size_t bytes);

  const CudaDriver* const driver_;
  void* context_ = nullptr;
  std::mutex mu_;
  // Guarded by mu_. By size.
  std::multimap<size_t, uint64_t> spare_;
  size_t spare_bytes_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_MEMORY_POOL_H_
