#include "proto/runs/last_ops.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::runs {
namespace {

absl::Status Check(absl::string_view file) {
  LastOpsHeader header;
  if (file.size() < kLastOpsHeaderBytes) {
    return absl::DataLossError(absl::StrCat("the file has ", file.size(),
                                            " bytes; its header has ",
                                            kLastOpsHeaderBytes));
  }
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic != kLastOpsMagic) {
    return absl::DataLossError(
        "this is no file of last ops, or of a later version");
  }
  const uint64_t expected =
      kLastOpsHeaderBytes + uint64_t{header.slots} * kLastOpSlotBytes;
  if (header.header_bytes != kLastOpsHeaderBytes ||
      header.slot_bytes != kLastOpSlotBytes || file.size() < expected) {
    return absl::DataLossError(
        absl::StrCat("a header of ", header.header_bytes, " bytes and ",
                     header.slots, " slots of ", header.slot_bytes,
                     " in a file of ", file.size(), " bytes"));
  }
  return absl::OkStatus();
}

LastOp OpOf(const LastOpSlot& slot) {
  LastOp op;
  op.thread = slot.thread;
  op.node = slot.node;
  op.step = slot.step;
  op.exec_order = slot.exec_order;
  op.begin_unix_ns = slot.begin_unix_ns;
  op.unfinished = slot.sequence % 2 == 1;
  const size_t name = slot.name_bytes, path = slot.file_bytes;
  if (slot.text_node == slot.node && name + path <= sizeof(slot.text)) {
    op.name.assign(slot.text, name);
    op.file.assign(slot.text + name, path);
    op.line = slot.line;
  }
  return op;
}

}  // namespace

absl::StatusOr<std::vector<LastOp>> ReadLastOps(absl::string_view file) {
  if (absl::Status status = Check(file); !status.ok()) return status;
  uint32_t slots;
  std::memcpy(&slots, file.data() + offsetof(LastOpsHeader, slots),
              sizeof(slots));
  std::vector<LastOp> ops;
  LastOpSlot slot;
  for (uint32_t i = 0; i < slots; ++i) {
    std::memcpy(&slot,
                file.data() + kLastOpsHeaderBytes + i * sizeof(LastOpSlot),
                sizeof(slot));
    if (slot.thread != 0 && slot.node != 0) ops.push_back(OpOf(slot));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const LastOp& a, const LastOp& b) {
                     return std::tie(b.unfinished, b.step, b.exec_order) <
                            std::tie(a.unfinished, a.step, a.exec_order);
                   });
  return ops;
}

}  // namespace graphdbg::runs
