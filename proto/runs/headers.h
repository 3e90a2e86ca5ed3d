// The headers of ring, segment and message files.
//
// A file of another format or of a later version, and a header whose numbers
// are beyond the limits, is DATA_LOSS. Callers name the file.
#ifndef PROTO_RUNS_HEADERS_H_
#define PROTO_RUNS_HEADERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/runs/record.h"

namespace graphdbg::runs {

// Seven letters and the version of the format.
using Magic = std::array<char, 8>;
inline constexpr Magic kRingMagic = {'G', 'D', 'B', 'G', 'R', 'N', 'G', 1};
inline constexpr Magic kSegmentMagic = {'G', 'D', 'B', 'G', 'L', 'O', 'G', 1};
inline constexpr Magic kMessagesMagic = {'G', 'D', 'B', 'G', 'M', 'S', 'G', 1};

// Identifies the process, as Hello.incarnation does.
using Incarnation = std::array<uint8_t, 16>;

inline constexpr uint32_t kRingHeaderBytes = 4096;
inline constexpr uint32_t kSegmentHeaderBytes = 64;
inline constexpr uint32_t kMessagesHeaderBytes = 16;

inline constexpr uint64_t kMinRingBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxRingBytes = uint64_t{4} << 30;
inline constexpr uint32_t kMaxRanks = 65536;

enum class RingState : uint32_t { kOpen = 1, kClosed = 2 };

// Begins a ring. `head`, `tail`, the dropped counts and `state` change while
// the file is mapped by its writer; each has a cache line of its own group.
struct RingHeader {
  Magic magic;
  uint32_t header_bytes;
  uint32_t record_bytes;
  // Records; the one of position p is in slot p mod capacity.
  uint64_t capacity;
  uint64_t start_unix_ns;
  Incarnation incarnation;
  uint32_t rank;
  uint32_t world_size;
  uint32_t pid;
  uint32_t state;  // RingState
  unsigned char zero[64];
  // The next position.
  uint64_t head;
  unsigned char zero_too[56];
  // Positions below are in the log.
  uint64_t tail;
  unsigned char zero_as_well[56];
  uint64_t records_dropped;
  uint64_t tensors_dropped;
};
static_assert(offsetof(RingHeader, capacity) == 16);
static_assert(offsetof(RingHeader, start_unix_ns) == 24);
static_assert(offsetof(RingHeader, incarnation) == 32);
static_assert(offsetof(RingHeader, rank) == 48);
static_assert(offsetof(RingHeader, state) == 60);
static_assert(offsetof(RingHeader, head) == 128);
static_assert(offsetof(RingHeader, tail) == 192);
static_assert(offsetof(RingHeader, records_dropped) == 256);
static_assert(offsetof(RingHeader, tensors_dropped) == 264);
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);

// Begins a segment of the log.
struct SegmentHeader {
  Magic magic = kSegmentMagic;
  uint32_t header_bytes = kSegmentHeaderBytes;
  uint32_t record_bytes = kRecordBytes;
  uint64_t first_position = 0;
  uint64_t unix_ns = 0;
  Incarnation incarnation{};
  uint32_t rank = 0;
  uint32_t world_size = 0;
  uint64_t zero = 0;
};
static_assert(offsetof(SegmentHeader, first_position) == 16);
static_assert(offsetof(SegmentHeader, incarnation) == 32);
static_assert(offsetof(SegmentHeader, rank) == 48);
static_assert(sizeof(SegmentHeader) == kSegmentHeaderBytes);

enum class MessageKind : uint32_t {
  kGraphUpdate = 1,
  kHit = 2,
  kOpTimes = 3,
  kUserChange = 4,
};

// Begins a file of messages.
struct MessagesHeader {
  Magic magic = kMessagesMagic;
  uint32_t kind = 0;  // MessageKind
  uint32_t zero = 0;
};
static_assert(sizeof(MessagesHeader) == kMessagesHeaderBytes);

// The header at the beginning of `file`, which may be longer. That of a ring is
// a copy: its counters are those of the moment.
absl::StatusOr<RingHeader> DecodeRingHeader(absl::string_view file);
absl::StatusOr<SegmentHeader> DecodeSegmentHeader(absl::string_view file);
absl::StatusOr<MessagesHeader> DecodeMessagesHeader(absl::string_view file);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_HEADERS_H_
