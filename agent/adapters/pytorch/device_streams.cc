#include "agent/adapters/pytorch/device_streams.h"

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <type_traits>

namespace graphdbg::pytorch {
namespace {

// c10::cuda::CUDAStream contains only a c10::Stream and has the same ABI.
static_assert(std::is_trivially_copyable_v<c10::Stream>);

struct CudaStreams {
  // c10::cuda::getCurrentCUDAStream(c10::DeviceIndex)
  c10::Stream (*current)(signed char device) = nullptr;
  // c10::cuda::CUDAStream::stream() const
  void* (*handle)(const c10::Stream* stream) = nullptr;

  CudaStreams() {
    void* const library =
        dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    current = reinterpret_cast<decltype(current)>(
        dlsym(library, "_ZN3c104cuda20getCurrentCUDAStreamEa"));
    handle = reinterpret_cast<decltype(handle)>(
        dlsym(library, "_ZNK3c104cuda10CUDAStream6streamEv"));
  }
};

void* CurrentCudaStream(signed char device) {
  // The library is loaded before the first CUDA tensor exists.
  static const CudaStreams streams;
  if (streams.current == nullptr || streams.handle == nullptr) return nullptr;
  const c10::Stream stream = streams.current(device);
  return streams.handle(&stream);
}

void DrainStreamOf(const c10::Device& device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.getStream(device).synchronize();
}

}  // namespace

void* CurrentStream(graphdbg_device device, int32_t device_id) {
  const auto index = static_cast<c10::DeviceIndex>(device_id);
  if (device == GRAPHDBG_CUDA) return CurrentCudaStream(index);
  if (device == GRAPHDBG_NPU) {
    DrainStreamOf(c10::Device(c10::DeviceType::PrivateUse1, index));
  }
  return nullptr;
}

}  // namespace graphdbg::pytorch
