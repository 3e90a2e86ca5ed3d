// The digests by which replicas are compared.
#ifndef AGENT_CORE_DIGEST_H_
#define AGENT_CORE_DIGEST_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg::agent {

// Like graphdbg_digest. Any thread.
uint64_t DigestOfMemory(const void* data, uint64_t count, size_t item_size);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DIGEST_H_
