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

// The same by a table, on any CPU. ExtendCrc32c() uses it where the CPU has no
// instruction.
uint32_t ExtendCrc32cByTable(uint32_t crc, const void* data, size_t size);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_CRC32C_H_
