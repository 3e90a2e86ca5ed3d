// NVIDIA's driver library, libcuda.so.1. That there is none is an ordinary
// answer.
#ifndef AGENT_RUNTIME_CUDA_DRIVER_H_
#define AGENT_RUNTIME_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// Any thread. The functions are the library's own, without its "cu".
class CudaDriver {
 public:
  // The process's one, opened at the first call. NOT_FOUND: no such library;
  // UNIMPLEMENTED: one that is too old; otherwise what its cuInit said
  // (UNAVAILABLE). After a fork a child must not use it.
  static const absl::StatusOr<const CudaDriver*>& Get();

  // OK, or what the driver calls the error: RESOURCE_EXHAUSTED if memory is
  // out, else INTERNAL.
  absl::Status Check(int result, const char* what) const;

  // As 13000 for 13.0; 0 if it does not say.
  int version() const;
  // As "13.0".
  std::string version_text() const;

  struct DeviceInfo {
    std::string name;
    uint64_t memory_bytes = 0;
    int multiprocessors = 0;
    // 90 for compute capability 9.0.
    int architecture = 0;
  };
  absl::StatusOr<std::vector<DeviceInfo>> Devices() const;

#define SYMBOL(symbol, name, ...) using name##Function = __VA_ARGS__;
#include "agent/runtime/cuda_symbols.inc"
#undef SYMBOL
#define SYMBOL(symbol, name, ...) name##Function name = nullptr;
#include "agent/runtime/cuda_symbols.inc"
#undef SYMBOL

 private:
  static absl::StatusOr<const CudaDriver*> Open();
};

// Numbers of cuda.h.
constexpr int kCudaSuccess = 0;
constexpr int kCudaOutOfMemory = 2;
// The default stream while a stream that waits for it records a graph.
constexpr int kCudaCaptureImplicit = 906;

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_DRIVER_H_
