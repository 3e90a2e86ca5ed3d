#include "proto/runs/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace graphdbg::runs {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82F63B78;

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
// The instruction takes three cycles, but one can begin in each. So a block is
// divided into three lanes whose checksums are computed at the same time: most
// of a record is one block.
constexpr size_t kLaneBytes = 48;
constexpr size_t kBlockBytes = 3 * kLaneBytes;

// x^(8 * bytes - 33) modulo the polynomial, the lowest power in the highest
// bit: a state times this, reduced by the instruction, is the state behind as
// many bytes of zero ("Fast CRC Computation for iSCSI Polynomial Using CRC32
// Instruction", Intel, 2011).
constexpr uint32_t BehindZeros(size_t bytes) {
  uint32_t power = 0x80000000;
  for (size_t i = 0; i < 8 * bytes - 33; ++i) {
    power = (power >> 1) ^ ((power & 1) != 0 ? kReversedPolynomial : 0);
  }
  return power;
}

inline uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

__attribute__((target("sse4.2,pclmul"))) inline uint64_t Times(
    uint64_t state, uint32_t factor) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(state)),
                           _mm_cvtsi64_si128(factor), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) uint32_t ExtendByInstruction(
    uint32_t crc, const void* data, size_t size) {
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
    constexpr uint32_t kTwoLanes = BehindZeros(2 * kLaneBytes);
    constexpr uint32_t kOneLane = BehindZeros(kLaneBytes);
    state = third ^
            _mm_crc32_u64(0, Times(first, kTwoLanes) ^ Times(second, kOneLane));
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

// Known once the program's constructors have run; before, the table serves.
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0 &&
                             __builtin_cpu_supports("pclmul") != 0;
#endif

}  // namespace

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
