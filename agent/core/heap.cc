#include "agent/core/heap.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace graphdbg::agent {

#ifdef __GLIBC__
namespace {

bool TunedByUser() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  return (tunables != nullptr &&
          std::strstr(tunables, "glibc.malloc.") != nullptr) ||
         std::getenv("MALLOC_TRIM_THRESHOLD_") != nullptr ||
         std::getenv("MALLOC_MMAP_THRESHOLD_") != nullptr;
}

}  // namespace

void KeepFreedMemory(int64_t bytes) {
  static std::atomic<bool> done{false};
  if (done.exchange(true) || TunedByUser()) return;
  // The largest threshold that glibc accepts. Larger blocks are always mapped.
  constexpr int kOnHeap = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kOnHeap);
  mallopt(M_TRIM_THRESHOLD,
          static_cast<int>(std::min<int64_t>(bytes, INT_MAX)));
}
#else
void KeepFreedMemory(int64_t) {}
#endif

}  // namespace graphdbg::agent
