// Reads segments of the log.
#ifndef PROTO_RUNS_SEGMENT_H_
#define PROTO_RUNS_SEGMENT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/runs/headers.h"
#include "proto/runs/record.h"

namespace graphdbg::runs {

// The records of consecutive positions at the beginning of `bytes`, the first
// of which is `first_position`: up to the first bad checksum or the end. To
// follow a segment that is being written, continue behind those already read. A
// view of `bytes`, which must be aligned to 8 bytes, as whatever is mapped is.
absl::Span<const Record> RecordsOf(absl::string_view bytes,
                                   uint64_t first_position);

struct Segment {
  SegmentHeader header;
  absl::Span<const Record> records;
  // Bytes behind them that are no record: a torn tail, or damage.
  size_t rest_bytes = 0;

  uint64_t end_position() const {
    return header.first_position + records.size();
  }
};

// The whole segment, a view of `file`, which must be aligned to 8 bytes.
// INVALID_ARGUMENT if it is not, DATA_LOSS if the header is bad (headers.h).
absl::StatusOr<Segment> ReadSegment(absl::string_view file);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_SEGMENT_H_
