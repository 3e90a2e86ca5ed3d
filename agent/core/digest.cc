#include "agent/core/digest.h"

#include "proto/runs/digest.h"

namespace graphdbg::agent {

uint64_t DigestOfMemory(const void* data, uint64_t count, size_t item_size) {
  return runs::Digest(data, count, item_size);
}

}  // namespace graphdbg::agent
