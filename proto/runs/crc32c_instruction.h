// The CRC-32C instruction of x86, for crc32c.cc and record.cc only.
#ifndef PROTO_RUNS_CRC32C_INSTRUCTION_H_
#define PROTO_RUNS_CRC32C_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace graphdbg::runs {

inline constexpr uint32_t kReversedPolynomial = 0x82F63B78;

#if defined(__x86_64__)

// Marks functions that use the instructions. They may only be called if
// kHasInstruction.
#define GRAPHDBG_CRC32C_TARGET __attribute__((target("sse4.2,pclmul")))

// False until the program's constructors have run; until then, the table
// serves.
extern const bool kHasInstruction;

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

GRAPHDBG_CRC32C_TARGET inline uint64_t Times(uint64_t state, uint32_t factor) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(state)),
                           _mm_cvtsi64_si128(factor), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// The instruction takes three cycles, but one can begin in each. So a block is
// divided into three lanes whose states are computed at the same time. This is
// the state behind all three, of which the last two have kLaneBytes each.
template <size_t kLaneBytes>
GRAPHDBG_CRC32C_TARGET inline uint64_t JoinLanes(uint64_t first,
                                                 uint64_t second,
                                                 uint64_t third) {
  constexpr uint32_t kTwoLanes = BehindZeros(2 * kLaneBytes);
  constexpr uint32_t kOneLane = BehindZeros(kLaneBytes);
  return third ^
         _mm_crc32_u64(0, Times(first, kTwoLanes) ^ Times(second, kOneLane));
}

inline uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

#endif  // defined(__x86_64__)

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_CRC32C_INSTRUCTION_H_
