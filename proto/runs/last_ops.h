// The file of last ops: for each thread of a process, the op that began last
// and whether it has ended.
//
// The process maps the file and stores into it when an op begins and ends, so
// that readers see what it was doing when it died, or what it is doing now.
#ifndef PROTO_RUNS_LAST_OPS_H_
#define PROTO_RUNS_LAST_OPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/runs/headers.h"

namespace graphdbg::runs {

inline constexpr Magic kLastOpsMagic = {'G', 'D', 'B', 'G', 'O', 'P', 'S', 1};
inline constexpr uint32_t kLastOpsHeaderBytes = 512;
inline constexpr uint32_t kLastOpSlotBytes = 512;
// Threads beyond are not followed.
inline constexpr uint32_t kLastOpSlots = 64;
inline constexpr uint64_t kLastOpsFileBytes =
    kLastOpsHeaderBytes + uint64_t{kLastOpSlots} * kLastOpSlotBytes;

struct LastOpsHeader {
  Magic magic = kLastOpsMagic;
  uint32_t header_bytes = kLastOpsHeaderBytes;
  uint32_t slot_bytes = kLastOpSlotBytes;
  uint32_t slots = kLastOpSlots;
  uint32_t rank = 0;
  Incarnation incarnation{};
};
static_assert(offsetof(LastOpsHeader, slots) == 16);
static_assert(offsetof(LastOpsHeader, incarnation) == 24);
static_assert(sizeof(LastOpsHeader) <= kLastOpsHeaderBytes);

// A thread stores the other fields before it advances `sequence`.
struct LastOpSlot {
  // Twice the number of ops that have ended, and one more while one runs.
  uint64_t sequence;
  uint64_t step;
  // From the kernel's coarse clock, which advances every few milliseconds.
  uint64_t begin_unix_ns;
  uint32_t node;
  uint32_t exec_order;
  // The kernel's id; 0: the slot is free.
  uint32_t thread;
  // The node whose name and source are in `text`, because it had not executed
  // before and graph.gdbm may not have it; 0: none.
  uint32_t text_node;
  uint32_t line;
  uint16_t name_bytes;
  uint16_t file_bytes;
  // The name, then the file.
  char text[464];
};
static_assert(offsetof(LastOpSlot, node) == 24);
static_assert(offsetof(LastOpSlot, thread) == 32);
static_assert(offsetof(LastOpSlot, line) == 40);
static_assert(offsetof(LastOpSlot, text) == 48);
static_assert(sizeof(LastOpSlot) == kLastOpSlotBytes);

// The last op of a thread.
struct LastOp {
  uint32_t thread = 0;
  uint32_t node = 0;
  uint64_t step = 0;
  uint32_t exec_order = 0;
  uint64_t begin_unix_ns = 0;
  // It had begun, and not ended.
  bool unfinished = false;
  // Empty and 0 unless the node had not executed before.
  std::string name;
  std::string file;
  uint32_t line = 0;
};

// The last op of each thread that has run any: unfinished ones first, then the
// newest first. DATA_LOSS as in headers.h.
absl::StatusOr<std::vector<LastOp>> ReadLastOps(absl::string_view file);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_LAST_OPS_H_
