#include "proto/runs/crc32c.h"

#include <array>
#include <cstring>

#include "proto/runs/crc32c_instruction.h"

namespace graphdbg::runs {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__)
constexpr size_t kLaneBytes = 48;
constexpr size_t kBlockBytes = 3 * kLaneBytes;

GRAPHDBG_CRC32C_TARGET uint32_t ExtendByInstruction(uint32_t crc,
                                                    const void* data,
                                                    size_t size) {
  const char* at = static_cast<const char*>(data);
  uint64_t state = static_cast<uint32_t>(~crc);
  for (; size >= kBlockBytes; size -= kBlockBytes, at += kBlockBytes) {
    uint64_t first = state;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kLaneBytes; i += 8) {
      first = _mm_crc32_u64(first, Word(at + i));
      second = _mm_crc32_u64(second, Word(at + kLaneBytes + i));
      third = _mm_crc32_u64(third, Word(at + 2 * kLaneBytes + i));
    }
    state = JoinLanes<kLaneBytes>(first, second, third);
  }
  for (; size >= 8; size -= 8, at += 8) state = _mm_crc32_u64(state, Word(at));
  uint32_t rest = static_cast<uint32_t>(state);
  if (size >= 4) {
    uint32_t half;
    std::memcpy(&half, at, sizeof(half));
    rest = _mm_crc32_u32(rest, half);
    size -= 4;
    at += 4;
  }
  for (; size > 0; --size, ++at) {
    rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*at));
  }
  return ~rest;
}
#endif

}  // namespace

#if defined(__x86_64__)
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0 &&
                             __builtin_cpu_supports("pclmul") != 0;
#endif

uint32_t ExtendCrc32cByTable(uint32_t crc, const void* data, size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t state = ~crc;
  for (size_t i = 0; i < size; ++i) {
    state = (state >> 8) ^ kTable[(state ^ at[i]) & 0xff];
  }
  return ~state;
}

uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size) {
#if defined(__x86_64__)
  if (kHasInstruction) return ExtendByInstruction(crc, data, size);
#endif
  return ExtendCrc32cByTable(crc, data, size);
}

}  // namespace graphdbg::runs
