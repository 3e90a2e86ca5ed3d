// graphdbg's kernels on a GPU.
#ifndef AGENT_RUNTIME_CUDA_MODULE_H_
#define AGENT_RUNTIME_CUDA_MODULE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Everything in the device's context. Launch: any thread.
class CudaModule {
 public:
  explicit CudaModule(const CudaDriver* driver) : driver_(driver) {}

  // All kernels at once: to load one at its first launch may wait for the
  // device, while there a kernel of the program waits for another process.
  absl::Status Load();
  // Also after an error.
  void Unload();

  // `argument` is the struct that kernels of this name take.
  absl::Status Launch(const std::string& kernel, uint32_t blocks,
                      const void* argument, Stream stream) const;

 private:
  const CudaDriver* const driver_;
  void* module_ = nullptr;
  std::map<std::string, void*> functions_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_MODULE_H_
