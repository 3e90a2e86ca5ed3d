// graphdbg's kernels, loaded on a GPU.
#ifndef AGENT_RUNTIME_CUDA_MODULE_H_
#define AGENT_RUNTIME_CUDA_MODULE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// The device's context must be current in all calls. Launch() is thread-safe.
class CudaModule {
 public:
  explicit CudaModule(const CudaDriver* driver) : driver_(driver) {}

  // Loads all kernels. Loading a kernel at its first launch could wait for the
  // device while a kernel of the program waits for another process.
  absl::Status Load();
  // Must also be called if Load() failed.
  void Unload();

  // `argument` points to the struct that the kernel takes.
  absl::Status Launch(const std::string& kernel, uint32_t blocks,
                      const void* argument, Stream stream) const;

 private:
  const CudaDriver* const driver_;
  void* module_ = nullptr;
  std::map<std::string, void*> functions_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_MODULE_H_
