#include "proto/runs/segment.h"

#include "absl/status/status.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runs {

absl::Span<const Record> RecordsOf(absl::string_view bytes,
                                   uint64_t first_position) {
  const auto* const records = reinterpret_cast<const Record*>(bytes.data());
  const size_t whole = bytes.size() / kRecordBytes;
  size_t count = 0;
  while (count < whole && IsAt(first_position + count, records[count])) {
    ++count;
  }
  return absl::MakeConstSpan(records, count);
}

absl::StatusOr<Segment> ReadSegment(absl::string_view file) {
  if (reinterpret_cast<uintptr_t>(file.data()) % alignof(Record) != 0) {
    return absl::InvalidArgumentError(
        "a segment must be aligned to 8 bytes in memory");
  }
  Segment segment;
  ASSIGN_OR_RETURN(segment.header, DecodeSegmentHeader(file));
  file.remove_prefix(kSegmentHeaderBytes);
  segment.records = RecordsOf(file, segment.header.first_position);
  segment.rest_bytes = file.size() - segment.records.size() * kRecordBytes;
  return segment;
}

}  // namespace graphdbg::runs
