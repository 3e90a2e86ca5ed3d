#include "server/runs/rank_log.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recorded {
namespace {

using runs::kRecordBytes;
using runs::Record;

constexpr size_t kMaxSegments = 1'000'000;

std::span<char> BytesOf(std::span<Record> records) {
  return {reinterpret_cast<char*>(records.data()), records.size_bytes()};
}

void Clear(std::span<Record> records) {
  for (Record& record : records) record = Record{};
}

// Clears what was not written for its position.
void KeepValid(uint64_t first, std::span<Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (!runs::IsAt(first + i, records[i])) records[i] = Record{};
  }
}

}  // namespace

RankLog::RankLog(Folder folder) : folder_(std::move(folder)) {}

RankLog::RankLog(Folder folder, std::string ring_path,
                 const runs::Incarnation& incarnation)
    : folder_(std::move(folder)),
      ring_path_(std::move(ring_path)),
      incarnation_(incarnation) {}

void RankLog::Refresh() {
  damage_.clear();
  if (!log_) {
    auto log = folder_.OpenFolder(runs::kLogDirectory);
    if (log.ok()) log_ = *std::move(log);
    if (!log.ok() && !absl::IsNotFound(log.status())) {
      damage_[folder_.PathOf(runs::kLogDirectory)] =
          std::string(log.status().message());
    }
  }
  if (log_) RefreshSegments(*log_);
  RefreshRing();
  ranges_.clear();
  log_bytes_ = 0;
  for (const auto& [first, segment] : segments_) {
    AddRange(segment.range);
    log_bytes_ += (segment.range.end - segment.range.first) * kRecordBytes;
  }
  if (!ring_) return;
  const uint64_t oldest =
      ring_->head > ring_->capacity ? ring_->head - ring_->capacity : 0;
  AddRange({oldest, ring_->head});
}

void RankLog::RefreshSegments(const Folder& log) {
  const auto names = log.List(kMaxSegments);
  if (!names.ok()) {
    damage_[log.path()] = std::string(names.status().message());
    return;
  }
  std::map<uint64_t, Segment> found;
  for (const std::string& name : *names) {
    const auto parsed = runs::ParseSegmentFile(name);
    if (!parsed) continue;
    const auto known = segments_.find(parsed->first_position);
    // A closed segment does not change any more.
    if (known != segments_.end() && !known->second.open && !parsed->open) {
      found.insert(*known);
      continue;
    }
    auto segment = ReadSegment(log, name, parsed->first_position);
    if (!segment) continue;
    segment->open = parsed->open;
    found[parsed->first_position] = *std::move(segment);
  }
  segments_ = std::move(found);
}

std::optional<RankLog::Segment> RankLog::ReadSegment(const Folder& log,
                                                     const std::string& name,
                                                     uint64_t first_position) {
  const auto read = [&]() -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(const File file, log.OpenFile(name));
    char head[runs::kSegmentHeaderBytes];
    ASSIGN_OR_RETURN(const size_t count, file.ReadAt(0, head));
    ASSIGN_OR_RETURN(const runs::SegmentHeader header,
                     runs::DecodeSegmentHeader({head, count}));
    if (header.first_position != first_position) {
      return absl::DataLossError(
          absl::StrCat("its header begins at position ", header.first_position,
                       ", its name at ", first_position));
    }
    const uint64_t records = (file.size() - sizeof head) / kRecordBytes;
    if (records > std::numeric_limits<uint64_t>::max() - first_position) {
      return absl::DataLossError("its positions exceed 64 bits");
    }
    return records;
  };
  const auto records = read();
  if (records.ok()) {
    return Segment{name, {first_position, first_position + *records}};
  }
  // One that the writer renamed since the names were listed is found next time.
  if (!absl::IsNotFound(records.status())) {
    damage_[log.PathOf(name)] = std::string(records.status().message());
  }
  return std::nullopt;
}

void RankLog::RefreshRing() {
  const auto read = [&]() -> absl::Status {
    if (!ring_file_) {
      ASSIGN_OR_RETURN(ring_file_, ring_path_.empty()
                                       ? folder_.OpenFile(runs::kRingFile)
                                       : File::Open(ring_path_));
    }
    std::string head(runs::kRingHeaderBytes, '\0');
    ASSIGN_OR_RETURN(const size_t count, ring_file_->ReadAt(0, head));
    const uint64_t size = ring_file_->size();
    if (count < head.size()) {
      return absl::DataLossError(absl::StrCat("the file has ", count,
                                              " bytes; its header has ",
                                              runs::kRingHeaderBytes));
    }
    runs::RingHeader header;
    std::copy_n(head.data(), sizeof header, reinterpret_cast<char*>(&header));
    // The decoder compares the capacity with the bytes that it is shown.
    const uint64_t room = (size - runs::kRingHeaderBytes) / kRecordBytes;
    if (header.capacity == 0 || header.capacity > room) {
      return absl::DataLossError(
          absl::StrCat("a ring of ", header.capacity, " records in a file of ",
                       size, " bytes, which has room for ", room));
    }
    const uint64_t capacity = header.capacity;
    header.capacity = 1;
    head.resize(runs::kRingHeaderBytes + kRecordBytes);
    std::copy_n(reinterpret_cast<const char*>(&header), sizeof header,
                head.data());
    ASSIGN_OR_RETURN(header, runs::DecodeRingHeader(head));
    if (!ring_path_.empty() && header.incarnation != incarnation_) {
      return absl::DataLossError("the file is that of another process");
    }
    header.capacity = capacity;
    ring_ = header;
    return absl::OkStatus();
  };
  ring_.reset();
  const absl::Status status = read();
  if (status.ok() || absl::IsNotFound(status)) return;
  const std::string path =
      ring_path_.empty() ? folder_.PathOf(runs::kRingFile) : ring_path_;
  damage_[path] = std::string(status.message());
  ring_file_.reset();
}

// Added in ascending order of `first`, except for the ring, which may overlap.
void RankLog::AddRange(Range range) {
  if (!ranges_.empty()) range.first = std::max(range.first, ranges_.back().end);
  if (range.first >= range.end) return;
  if (!ranges_.empty() && ranges_.back().end == range.first) {
    ranges_.back().end = range.end;
  } else {
    ranges_.push_back(range);
  }
}

const RankLog::Segment* RankLog::SegmentOf(uint64_t position) const {
  auto next = segments_.upper_bound(position);
  if (next == segments_.begin()) return nullptr;
  const Segment& segment = std::prev(next)->second;
  return position < segment.range.end ? &segment : nullptr;
}

void RankLog::Read(uint64_t first, std::span<Record> out) const {
  while (!out.empty()) {
    const Segment* const segment = SegmentOf(first);
    size_t count = out.size();
    if (segment != nullptr) {
      count = std::min<uint64_t>(count, segment->range.end - first);
      ReadFromSegment(*segment, first, out.first(count));
    } else {
      const auto next = segments_.upper_bound(first);
      if (next != segments_.end()) {
        count = std::min<uint64_t>(count, next->first - first);
      }
      ReadFromRing(first, out.first(count));
    }
    first += count;
    out = out.subspan(count);
  }
}

void RankLog::ReadFromSegment(const Segment& segment, uint64_t first,
                              std::span<Record> out) const {
  if (!file_ || file_first_ != segment.range.first) {
    auto file = log_->OpenFile(segment.name);
    // The writer has renamed it since, which happens once.
    if (absl::IsNotFound(file.status())) {
      file = log_->OpenFile(runs::SegmentFile(segment.range.first));
    }
    if (!file.ok()) return Clear(out);
    file_ = *std::move(file);
    file_first_ = segment.range.first;
  }
  const uint64_t offset =
      runs::kSegmentHeaderBytes + (first - segment.range.first) * kRecordBytes;
  const auto count = file_->ReadAt(offset, BytesOf(out));
  const size_t whole = count.ok() ? *count / kRecordBytes : 0;
  KeepValid(first, out.first(whole));
  Clear(out.subspan(whole));
}

void RankLog::ReadFromRing(uint64_t first, std::span<Record> out) const {
  if (!ring_ || !ring_file_) return Clear(out);
  while (!out.empty()) {
    const uint64_t slot = first % ring_->capacity;
    const size_t count = std::min<uint64_t>(out.size(), ring_->capacity - slot);
    const std::span<Record> part = out.first(count);
    const auto bytes = ring_file_->ReadAt(
        runs::kRingHeaderBytes + slot * kRecordBytes, BytesOf(part));
    const size_t whole = bytes.ok() ? *bytes / kRecordBytes : 0;
    KeepValid(first, part.first(whole));
    Clear(part.subspan(whole));
    first += count;
    out = out.subspan(count);
  }
}

}  // namespace graphdbg::recorded
