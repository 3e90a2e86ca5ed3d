#include "proto/runs/record.h"

#include "proto/runs/crc32c.h"
#include "proto/runs/crc32c_instruction.h"

namespace graphdbg::runs {
namespace {

constexpr size_t kCrcBytes = sizeof(Record::crc);

#if defined(__x86_64__)
// Reads aligned words, because the record has just been written as such: a load
// that overlaps two of them would have to wait until both are in the cache.
GRAPHDBG_CRC32C_TARGET uint32_t CrcByInstruction(uint64_t position,
                                                 const Record& record) {
  // Each lane takes seven instructions. The first one has the position, the
  // four bytes behind the checksum and five words.
  constexpr size_t kWords = 7;
  constexpr size_t kLaneBytes = 8 * kWords;
  const char* const at = reinterpret_cast<const char*>(&record);
  const char* const third_lane = at + kRecordBytes - kLaneBytes;
  const char* const second_lane = third_lane - kLaneBytes;
  const char* const first_lane = second_lane - kLaneBytes;
  uint32_t begin;
  std::memcpy(&begin, at + kCrcBytes, sizeof(begin));
  uint64_t first = _mm_crc32_u64(~uint32_t{0}, position);
  first = _mm_crc32_u32(static_cast<uint32_t>(first), begin);
  uint64_t second = 0;
  uint64_t third = 0;
  for (size_t i = 0; i < kLaneBytes; i += 8) {
    if (i >= 16) first = _mm_crc32_u64(first, Word(first_lane + i));
    second = _mm_crc32_u64(second, Word(second_lane + i));
    third = _mm_crc32_u64(third, Word(third_lane + i));
  }
  return ~static_cast<uint32_t>(JoinLanes<kLaneBytes>(first, second, third));
}
#endif

uint32_t CrcOf(uint64_t position, const Record& record) {
#if defined(__x86_64__)
  if (kHasInstruction) return CrcByInstruction(position, record);
#endif
  return ExtendCrc32cByTable(
      ExtendCrc32cByTable(0, &position, sizeof(position)),
      reinterpret_cast<const char*>(&record) + kCrcBytes,
      kRecordBytes - kCrcBytes);
}

}  // namespace

absl::string_view ToString(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kEval:
      return "eval";
    case Mode::kPredict:
      return "predict";
    case Mode::kUnknown:
      break;
  }
  return "unknown";
}

uint32_t RecordCrc(uint64_t position, const Record& record) {
  const uint32_t crc = CrcOf(position, record);
  return crc == 0 ? 1 : crc;
}

}  // namespace graphdbg::runs
