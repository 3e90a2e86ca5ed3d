// Writes the log: segments of consecutive records.
#ifndef AGENT_RECORDING_SEGMENT_WRITER_H_
#define AGENT_RECORDING_SEGMENT_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "agent/recording/file.h"
#include "agent/recording/ring.h"
#include "proto/runs/record.h"

namespace graphdbg::recording {

// Used by one thread. After a failure, the same call may be made again, and
// continues where the last one that succeeded ended: what was written halfway
// is written again at the same place.
class SegmentWriter {
 public:
  // `directory` exists.
  SegmentWriter(std::string directory, const RingOwner& owner)
      : directory_(std::move(directory)), owner_(owner) {}

  // Appends records, the first of which is at `position`. Begins a new
  // segment if there is none, or if `position` does not follow the last record.
  absl::Status Append(uint64_t position,
                      absl::Span<const runs::Record> records);
  // Waits until what was appended is on the disk.
  absl::Status Sync();
  // Finishes the segment: synced, and with its final name.
  absl::Status Close();

  // Bytes of the current segment, or of one that is about to begin.
  uint64_t segment_bytes() const {
    return file_.is_open() ? bytes_ : runs::kSegmentHeaderBytes;
  }

 private:
  absl::Status Begin(uint64_t position);

  const std::string directory_;
  const RingOwner owner_;

  File file_;
  // The segment's final name.
  std::string path_;
  uint64_t bytes_ = 0;
  uint64_t next_position_ = 0;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_SEGMENT_WRITER_H_
