// Loads of elements.
#ifndef AGENT_KERNELS_CUDA_LOAD_H_
#define AGENT_KERNELS_CUDA_LOAD_H_

#include <cstdint>
#include <cstring>

#include "agent/kernels/cuda/portable.h"

namespace graphdbg::cuda {

struct alignas(16) Vector {
  uint32_t words[4];
};

// Streaming load: the data is read once and should not evict other data from
// the cache.
GRAPHDBG_PORTABLE Vector LoadVector(const void* p) {
#ifdef __CUDA_ARCH__
  const uint4 v = __ldcs(static_cast<const uint4*>(p));
  return {{v.x, v.y, v.z, v.w}};
#else
  Vector v;
  memcpy(&v, p, sizeof(v));
  return v;
#endif
}

template <class Raw>
GRAPHDBG_PORTABLE Raw LoadOne(const void* data, uint64_t index) {
  const char* const p = static_cast<const char*>(data) + index * sizeof(Raw);
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Raw*>(p);
#else
  Raw raw;
  memcpy(&raw, p, sizeof(raw));
  return raw;
#endif
}

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_LOAD_H_
