// CRC-32C (Castagnoli), the checksum of recorded runs: the polynomial that x86
// has an instruction for.
#ifndef PROTO_RUNS_CRC32C_H_
#define PROTO_RUNS_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg::runs {

// The checksum of the bytes whose checksum is `crc`, followed by `size` bytes
// at `data`. Start with 0.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size);

inline uint32_t Crc32c(const void* data, size_t size) {
  return ExtendCrc32c(0, data, size);
}

// Copies `size` bytes, which do not overlap, and returns what ExtendCrc32c()
// returns for the copy. Larger copies go past the caches where the CPU can do
// that: nothing should read them soon.
uint32_t CopyAndExtendCrc32c(uint32_t crc, void* to, const void* from,
                             size_t size);

// The same as ExtendCrc32c() by a table, on any CPU. It is used where the CPU
// has no instruction.
uint32_t ExtendCrc32cByTable(uint32_t crc, const void* data, size_t size);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_CRC32C_H_
