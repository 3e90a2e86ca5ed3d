// Replaces NVIDIA's driver library on machines without a GPU. Emulates two
// devices, whose memory is that of the host, and runs kernels on the processor.
// Like the real library, it requires a current context, which must be the one
// that the given handles belong to.
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "agent/kernels/cuda/emulated.h"
#include "agent/kernels/cuda/work.h"
#include "agent/testing/stub_state.h"

namespace {

constexpr int kDevices = 2;
// CUDA_ERROR_INVALID_VALUE, _INVALID_CONTEXT, _INVALID_HANDLE, _NOT_FOUND,
// _STREAM_CAPTURE_UNSUPPORTED.
constexpr int kInvalid = 1;
constexpr int kInvalidContext = 201;
constexpr int kInvalidHandle = 400;
constexpr int kNotFound = 500;
constexpr int kCaptureUnsupported = 900;

thread_local std::vector<void*> contexts;

void* Current() { return contexts.empty() ? nullptr : contexts.back(); }

// The contexts in which modules, streams and events were created. Other
// handles, like the default stream and streams of the test, are not listed.
std::map<void*, void*>& Owners() {
  static auto* owners = new std::map<void*, void*>;
  return *owners;
}

// Returns 0, or the error of using the handle in the current context.
int CheckHandle(void* handle) {
  const auto owner = Owners().find(handle);
  if (Current() == nullptr) return kInvalidContext;
  const bool foreign = owner != Owners().end() && owner->second != Current();
  return foreign ? kInvalidHandle : 0;
}

struct Function {
  std::string kernel;
  void* module;
};

struct Module {
  std::list<Function> functions;
};

#ifndef STUB_WITHOUT_LAUNCH
// Copies the argument of a kernel, like the driver does at launch.
std::string ArgumentOf(const std::string& kernel, const void* argument) {
  namespace cuda = graphdbg::cuda;
  size_t size = sizeof(cuda::GatherItem);
  if (kernel.rfind("Statistics", 0) == 0) size = sizeof(cuda::Batch);
  if (kernel.rfind("Strided", 0) == 0) size = sizeof(cuda::StridedItem);
  if (kernel.rfind("Pair", 0) == 0) size = sizeof(cuda::PairItem);
  return {static_cast<const char*>(argument), size};
}
#endif

}  // namespace

// Begins a function that uses a handle, or null, in the current context.
#define STUB_ENTER_WITH(function, handle) \
  STUB_ENTER(function);                   \
  if (const int wrong = CheckHandle(handle)) return wrong

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
  // The number of multiprocessors, and compute capability 9.0.
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

int cuCtxPushCurrent_v2(void* context) {
  STUB_ENTER("cuCtxPushCurrent");
  contexts.push_back(context);
  return 0;
}

int cuCtxPopCurrent_v2(void**) {
  STUB_ENTER_WITH("cuCtxPopCurrent", nullptr);
  contexts.pop_back();
  return 0;
}

int cuCtxSynchronize() {
  STUB_ENTER_WITH("cuCtxSynchronize", nullptr);
  if (graphdbg::stub::Get().capture) return kCaptureUnsupported;
  graphdbg::stub::FinishAll();
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  STUB_ENTER_WITH("cuModuleLoadData", nullptr);
  if (image == nullptr) return kInvalid;
  *module = new Module;
  Owners()[*module] = Current();
  return 0;
}

int cuModuleUnload(void* module) {
  STUB_ENTER_WITH("cuModuleUnload", module);
  Owners().erase(module);
  delete static_cast<Module*>(module);
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  STUB_ENTER_WITH("cuModuleGetFunction", module);
  if (!graphdbg::cuda::HasKernel(name)) return kNotFound;
  auto& functions = static_cast<Module*>(module)->functions;
  functions.push_back({name, module});
  *function = &functions.back();
  return 0;
}

#ifndef STUB_WITHOUT_LAUNCH
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned,
                   unsigned threads, unsigned, unsigned, unsigned, void* stream,
                   void** arguments, void**) {
  STUB_ENTER_WITH("cuLaunchKernel", stream);
  const auto& [kernel, module] = *static_cast<Function*>(function);
  if (const int wrong = CheckHandle(module)) return wrong;
  if (threads != graphdbg::cuda::kThreadsPerBlock) return kInvalid;
  graphdbg::stub::Put(stream, [blocks, kernel = kernel,
                               argument = ArgumentOf(kernel, arguments[0])] {
    graphdbg::cuda::RunEmulated(kernel, blocks, argument.data());
  });
  return 0;
}
#endif

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  STUB_ENTER_WITH("cuMemAlloc", nullptr);
  *address = reinterpret_cast<uint64_t>(graphdbg::stub::Allocate(bytes));
  return 0;
}

int cuMemFree_v2(uint64_t address) {
  STUB_ENTER_WITH("cuMemFree", nullptr);
  return graphdbg::stub::Free(reinterpret_cast<void*>(address)) ? 0 : kInvalid;
}

int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  STUB_ENTER_WITH("cuMemHostAlloc", nullptr);
  *address = graphdbg::stub::Allocate(bytes);
  return 0;
}

int cuMemHostGetDevicePointer_v2(uint64_t* device, void* address, unsigned) {
  STUB_ENTER_WITH("cuMemHostGetDevicePointer", nullptr);
  *device = reinterpret_cast<uint64_t>(address);
  return 0;
}

int cuMemFreeHost(void* address) {
  STUB_ENTER_WITH("cuMemFreeHost", nullptr);
  return graphdbg::stub::Free(address) ? 0 : kInvalid;
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t count,
                    void* stream) {
  STUB_ENTER_WITH("cuMemsetD8Async", stream);
  std::memset(reinterpret_cast<void*>(address), value, count);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  STUB_ENTER_WITH("cuMemcpyDtoHAsync", stream);
  graphdbg::stub::Put(
      stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
  return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                         void* stream) {
  STUB_ENTER_WITH("cuMemcpyDtoDAsync", stream);
  graphdbg::stub::Put(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                bytes);
  });
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  STUB_ENTER_WITH("cuStreamCreate", nullptr);
  *stream = new char;
  Owners()[*stream] = Current();
  return 0;
}

int cuStreamDestroy_v2(void* stream) {
  STUB_ENTER_WITH("cuStreamDestroy", stream);
  Owners().erase(stream);
  delete static_cast<char*>(stream);
  return 0;
}

int cuStreamSynchronize(void* stream) {
  STUB_ENTER_WITH("cuStreamSynchronize", stream);
  if (graphdbg::stub::Get().capture) return kCaptureUnsupported;
  graphdbg::stub::Finish(stream);
  return 0;
}

int cuStreamIsCapturing(void* stream, int* status) {
  STUB_ENTER_WITH("cuStreamIsCapturing", stream);
  *status = graphdbg::stub::Get().capture ? 1 : 0;
  return 0;
}

// An event stores the stream on which it was recorded, and initially itself.
// Waiting for it finishes the work of that stream.
int cuEventCreate(void** event, unsigned) {
  STUB_ENTER_WITH("cuEventCreate", nullptr);
  void** const made = new void*;
  *event = *made = made;
  Owners()[*event] = Current();
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  STUB_ENTER_WITH("cuEventRecord", event);
  *static_cast<void**>(event) = stream;
  return 0;
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  STUB_ENTER_WITH("cuStreamWaitEvent", event);
  void* const recorded = *static_cast<void**>(event);
  if (recorded != event && recorded != stream) {
    graphdbg::stub::Put(stream,
                        [=]() GRAPHDBG_REQUIRES(graphdbg::stub::Get().mu) {
                          graphdbg::stub::Finish(recorded);
                        });
  }
  return 0;
}

int cuEventDestroy_v2(void* event) {
  STUB_ENTER_WITH("cuEventDestroy", event);
  Owners().erase(event);
  delete static_cast<void**>(event);
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int*) {
  STUB_ENTER("cuThreadExchangeStreamCaptureMode");
  return 0;
}

}  // extern "C"
