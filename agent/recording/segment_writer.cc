#include "agent/recording/segment_writer.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/recording/clock.h"
#include "proto/runs/headers.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {

absl::Status SegmentWriter::Begin(uint64_t position) {
  runs::SegmentHeader header;
  header.first_position = position;
  header.unix_ns = UnixNanoseconds();
  header.incarnation = owner_.incarnation;
  header.rank = owner_.rank;
  header.world_size = owner_.world_size;
  std::string path = Join(directory_, runs::SegmentFile(position));
  const std::string open_path = absl::StrCat(path, runs::kOpenSuffix);
  ASSIGN_OR_RETURN(File file, File::Create(open_path));
  const absl::Status written =
      file.WriteAt(0, {reinterpret_cast<const char*>(&header), sizeof(header)});
  if (!written.ok()) {
    // So that the next attempt can create it.
    unlink(open_path.c_str());
    return written;
  }
  file_ = std::move(file);
  path_ = std::move(path);
  bytes_ = sizeof(header);
  next_position_ = position;
  return absl::OkStatus();
}

absl::Status SegmentWriter::Append(uint64_t position,
                                   absl::Span<const runs::Record> records) {
  if (file_.is_open() && position != next_position_) RETURN_IF_ERROR(Close());
  if (!file_.is_open()) RETURN_IF_ERROR(Begin(position));
  const size_t size = records.size() * runs::kRecordBytes;
  RETURN_IF_ERROR(file_.WriteAt(
      bytes_, {reinterpret_cast<const char*>(records.data()), size}));
  bytes_ += size;
  next_position_ += records.size();
  return absl::OkStatus();
}

absl::Status SegmentWriter::Sync() {
  return file_.is_open() ? file_.Sync() : absl::OkStatus();
}

absl::Status SegmentWriter::Close() {
  if (!file_.is_open()) return absl::OkStatus();
  RETURN_IF_ERROR(file_.Sync());
  RETURN_IF_ERROR(RenameDurably(file_.path(), path_));
  file_ = File();
  return absl::OkStatus();
}

}  // namespace graphdbg::recording
