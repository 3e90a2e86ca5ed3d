#include "proto/runs/ring.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runs {

absl::StatusOr<RingView> RingView::Open(absl::string_view file) {
  if (reinterpret_cast<uintptr_t>(file.data()) % alignof(Record) != 0) {
    return absl::InvalidArgumentError(
        "a ring must be aligned to 8 bytes in memory");
  }
  ASSIGN_OR_RETURN(const RingHeader header, DecodeRingHeader(file));
  return RingView(file, header);
}

uint64_t RingView::head() const {
  const auto* const head = reinterpret_cast<const uint64_t*>(
      file_.data() + offsetof(RingHeader, head));
  return __atomic_load_n(head, __ATOMIC_ACQUIRE);
}

uint64_t RingView::oldest() const {
  const uint64_t end = head();
  return end > header_.capacity ? end - header_.capacity : 0;
}

bool IsCommitted(const Record& slot, uint64_t position) {
  // Its writer stores the checksum last: who sees it sees the rest as well.
  const uint32_t crc = __atomic_load_n(&slot.crc, __ATOMIC_ACQUIRE);
  return crc != 0 && crc == RecordCrc(position, slot);
}

bool ReadSlot(const Record& slot, uint64_t position, Record* record) {
  // Its writer stores the checksum last, and 0 before it changes anything else.
  // A copy that mixes two records fails the check.
  const uint32_t crc = __atomic_load_n(&slot.crc, __ATOMIC_ACQUIRE);
  std::memcpy(record, &slot, kRecordBytes);
  record->crc = crc;
  return IsAt(position, *record);
}

bool RingView::Read(uint64_t position, Record* record) const {
  const auto* const slot = reinterpret_cast<const Record*>(
      file_.data() + SlotOffset(position, header_.capacity));
  return ReadSlot(*slot, position, record);
}

void RingView::ForEach(
    uint64_t begin,
    absl::FunctionRef<void(uint64_t position, const Record&)> use) const {
  const uint64_t end = head();
  Record record;
  for (uint64_t at = std::max(begin, oldest()); at < end; ++at) {
    if (Read(at, &record)) use(at, record);
  }
}

}  // namespace graphdbg::runs
