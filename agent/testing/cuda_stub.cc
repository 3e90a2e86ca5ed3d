// Stands in for NVIDIA's driver library where there is no GPU: two devices
// whose memory is the host's, and kernels that run on the processor.
#include <cstring>
#include <string>

#include "agent/kernels/cuda/emulated.h"
#include "agent/kernels/cuda/work.h"
#include "agent/testing/stub_state.h"

namespace {

constexpr int kDevices = 2;
// CUDA_ERROR_INVALID_VALUE, _NOT_FOUND, _STREAM_CAPTURE_UNSUPPORTED.
constexpr int kInvalid = 1;
constexpr int kNotFound = 500;
constexpr int kCaptureUnsupported = 900;

#ifndef STUB_WITHOUT_LAUNCH
// A kernel's arguments are copied when it is launched.
std::string ArgumentOf(const std::string& kernel, const void* argument) {
  using namespace graphdbg::cuda;
  size_t size = sizeof(GatherItem);
  if (kernel.rfind("Statistics", 0) == 0) size = sizeof(Batch);
  if (kernel.rfind("Strided", 0) == 0) size = sizeof(StridedItem);
  if (kernel.rfind("Pair", 0) == 0) size = sizeof(PairItem);
  return {static_cast<const char*>(argument), size};
}
#endif

}  // namespace

extern "C" {

int cuInit(unsigned) {
  STUB_ENTER("cuInit");
  return 0;
}

int cuDriverGetVersion(int* version) {
  STUB_ENTER("cuDriverGetVersion");
  *version = 13000;
  return 0;
}

int cuGetErrorName(int error, const char** name) {
  if (error != 700 && error != 2) return kInvalid;
  *name =
      error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS";
  return 0;
}

int cuGetErrorString(int error, const char** text) {
  if (error != 700) return kInvalid;
  *text = "an illegal memory access was encountered";
  return 0;
}

int cuDeviceGetCount(int* count) {
  STUB_ENTER("cuDeviceGetCount");
  *count = kDevices;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  STUB_ENTER("cuDeviceGet");
  *device = ordinal;
  return 0;
}

int cuDeviceGetName(char* name, int size, int) {
  STUB_ENTER("cuDeviceGetName");
  std::strncpy(name, "Stub GPU", static_cast<size_t>(size));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  STUB_ENTER("cuDeviceGetAttribute");
  // Multiprocessors, and compute capability 9.0.
  *value = attribute == 16 ? 2 : attribute == 75 ? 9 : 0;
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  STUB_ENTER("cuDeviceTotalMem");
  *bytes = size_t{16} << 30;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  STUB_ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<void*>(uintptr_t{0x1000} + device);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  STUB_ENTER("cuDevicePrimaryCtxRelease");
  return 0;
}

int cuCtxPushCurrent_v2(void*) {
  STUB_ENTER("cuCtxPushCurrent");
  return 0;
}

int cuCtxPopCurrent_v2(void**) {
  STUB_ENTER("cuCtxPopCurrent");
  return 0;
}

int cuCtxSynchronize() {
  STUB_ENTER("cuCtxSynchronize");
  if (graphdbg::stub::Get().capture) return kCaptureUnsupported;
  graphdbg::stub::FinishAll();
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  STUB_ENTER("cuModuleLoadData");
  if (image == nullptr) return kInvalid;
  *module = reinterpret_cast<void*>(uintptr_t{0x2000});
  return 0;
}

int cuModuleUnload(void*) {
  STUB_ENTER("cuModuleUnload");
  return 0;
}

int cuModuleGetFunction(void** function, void*, const char* name) {
  STUB_ENTER("cuModuleGetFunction");
  if (!graphdbg::cuda::HasKernel(name)) return kNotFound;
  // Never freed: as long as the module.
  *function = new std::string(name);
  return 0;
}

#ifndef STUB_WITHOUT_LAUNCH
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned,
                   unsigned threads, unsigned, unsigned, unsigned, void* stream,
                   void** arguments, void**) {
  STUB_ENTER("cuLaunchKernel");
  const std::string& kernel = *static_cast<std::string*>(function);
  if (threads != graphdbg::cuda::kThreadsPerBlock) return kInvalid;
  graphdbg::stub::Put(stream, [=, argument = ArgumentOf(kernel, arguments[0])] {
    graphdbg::cuda::RunEmulated(kernel, blocks, argument.data());
  });
  return 0;
}
#endif

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  STUB_ENTER("cuMemAlloc");
  *address = reinterpret_cast<uint64_t>(graphdbg::stub::Allocate(bytes));
  return 0;
}

int cuMemFree_v2(uint64_t address) {
  STUB_ENTER("cuMemFree");
  return graphdbg::stub::Free(reinterpret_cast<void*>(address)) ? 0 : kInvalid;
}

int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  STUB_ENTER("cuMemHostAlloc");
  *address = graphdbg::stub::Allocate(bytes);
  return 0;
}

int cuMemHostGetDevicePointer_v2(uint64_t* device, void* address, unsigned) {
  STUB_ENTER("cuMemHostGetDevicePointer");
  *device = reinterpret_cast<uint64_t>(address);
  return 0;
}

int cuMemFreeHost(void* address) {
  STUB_ENTER("cuMemFreeHost");
  return graphdbg::stub::Free(address) ? 0 : kInvalid;
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t count,
                    void*) {
  STUB_ENTER("cuMemsetD8Async");
  std::memset(reinterpret_cast<void*>(address), value, count);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  STUB_ENTER("cuMemcpyDtoHAsync");
  graphdbg::stub::Put(
      stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
  return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                         void* stream) {
  STUB_ENTER("cuMemcpyDtoDAsync");
  graphdbg::stub::Put(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                bytes);
  });
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  STUB_ENTER("cuStreamCreate");
  *stream = new char;
  return 0;
}

int cuStreamDestroy_v2(void* stream) {
  STUB_ENTER("cuStreamDestroy");
  delete static_cast<char*>(stream);
  return 0;
}

int cuStreamSynchronize(void* stream) {
  STUB_ENTER("cuStreamSynchronize");
  if (graphdbg::stub::Get().capture) return kCaptureUnsupported;
  graphdbg::stub::Finish(stream);
  return 0;
}

int cuStreamIsCapturing(void*, int* status) {
  STUB_ENTER("cuStreamIsCapturing");
  *status = graphdbg::stub::Get().capture ? 1 : 0;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int*) {
  STUB_ENTER("cuThreadExchangeStreamCaptureMode");
  return 0;
}

}  // extern "C"
