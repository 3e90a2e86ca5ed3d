// NVIDIA's driver library, libcuda.so.1. Its absence is an expected result.
#ifndef AGENT_RUNTIME_CUDA_DRIVER_H_
#define AGENT_RUNTIME_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// The library's functions, without the prefix "cu". Thread-safe.
class CudaDriver {
 public:
  // The process's instance, opened by the first call. Returns NOT_FOUND if the
  // library is not installed, UNIMPLEMENTED if it is too old, and UNAVAILABLE
  // if cuInit() fails. Must not be used in a forked child.
  static const absl::StatusOr<const CudaDriver*>& Get();

  // Converts a result to a status with the driver's message: RESOURCE_EXHAUSTED
  // if out of memory, otherwise INTERNAL.
  absl::Status Check(int result, const char* what) const;

  // 13000 for 13.0; 0 if unknown.
  int version() const;
  // For example "13.0".
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

// Constants of cuda.h.
constexpr int kCudaSuccess = 0;
constexpr int kCudaOutOfMemory = 2;
// The default stream was used while a stream that depends on it is capturing a
// graph.
constexpr int kCudaCaptureImplicit = 906;

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_DRIVER_H_
