#include "proto/runs/crc32c.h"

#include <algorithm>
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

// A line of the cache, so that each lane fills whole ones.
constexpr size_t kCopiedLaneBytes = 64;
constexpr size_t kCopiedBlockBytes = 3 * kCopiedLaneBytes;
// Shorter copies stay in the caches: waiting for their end would take longer.
constexpr size_t kLeastStreamedBytes = 1024;

void Stream(char* to, uint64_t word) {
  _mm_stream_si64(reinterpret_cast<long long*>(to),
                  static_cast<long long>(word));
}

// Copies a multiple of kCopiedBlockBytes to the begin of a line. Each word is
// read once, so that the checksum is that of the copy even if the program
// changes the original meanwhile.
GRAPHDBG_CRC32C_TARGET uint32_t StreamByInstruction(uint32_t crc, char* to,
                                                    const char* from,
                                                    size_t size) {
  uint64_t state = static_cast<uint32_t>(~crc);
  for (const char* const end = from + size; from < end;
       from += kCopiedBlockBytes, to += kCopiedBlockBytes) {
    uint64_t first = state;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kCopiedLaneBytes; i += 8) {
      const size_t j = i + kCopiedLaneBytes;
      const size_t k = j + kCopiedLaneBytes;
      const uint64_t words[] = {Word(from + i), Word(from + j), Word(from + k)};
      first = _mm_crc32_u64(first, words[0]);
      second = _mm_crc32_u64(second, words[1]);
      third = _mm_crc32_u64(third, words[2]);
      Stream(to + i, words[0]);
      Stream(to + j, words[1]);
      Stream(to + k, words[2]);
    }
    state = JoinLanes<kCopiedLaneBytes>(first, second, third);
  }
  // Otherwise, a later store could be seen before these.
  _mm_sfence();
  return ~static_cast<uint32_t>(state);
}
#endif

// By way of the stack: reading what was just copied would wait for its line.
uint32_t CopyShort(uint32_t crc, char* to, const char* from, size_t size) {
  char bytes[256];
  while (size > 0) {
    const size_t piece = std::min(size, sizeof(bytes));
    std::memcpy(bytes, from, piece);
    crc = ExtendCrc32c(crc, bytes, piece);
    std::memcpy(to, bytes, piece);
    to += piece;
    from += piece;
    size -= piece;
  }
  return crc;
}

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

uint32_t CopyAndExtendCrc32c(uint32_t crc, void* to, const void* from,
                             size_t size) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
#if defined(__x86_64__)
  if (kHasInstruction && size >= kLeastStreamedBytes) {
    const size_t head = -reinterpret_cast<uintptr_t>(target) % kCopiedLaneBytes;
    const size_t body = (size - head) / kCopiedBlockBytes * kCopiedBlockBytes;
    crc = CopyShort(crc, target, source, head);
    crc = StreamByInstruction(crc, target + head, source + head, body);
    target += head + body;
    source += head + body;
    size -= head + body;
  }
#endif
  return CopyShort(crc, target, source, size);
}

}  // namespace graphdbg::runs
