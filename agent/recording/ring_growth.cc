#include "agent/recording/ring_growth.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/recording/ring_place.h"

namespace graphdbg::recording {
namespace {

// The first step declares its nodes, and may have other records than the rest.
constexpr uint64_t kStepsToMeasure = 2;
// The ring may take one part in so many of the free space in its directory, as
// in shared memory.
constexpr uint64_t kShareOfRoom = 4;
constexpr uint64_t kMegabyte = uint64_t{1} << 20;

uint64_t RoundedUp(uint64_t bytes) {
  return std::min((bytes + kMegabyte - 1) / kMegabyte * kMegabyte,
                  runs::kMaxRingBytes);
}

std::string DirectoryOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

void RingGrowth::EndStep() {
  const uint64_t end = ring_->head();
  most_records_ = std::max(most_records_.load(), end - end_);
  end_ = end;
  ++ended_;
}

uint64_t RingGrowth::WantedBytes() const {
  const uint64_t capacity = ring_->capacity();
  if (ended_ >= kStepsToMeasure) {
    // The step in progress is one more.
    const uint64_t records = most_records_ * (steps_ + 1);
    return records <= capacity ? 0
                               : RoundedUp(runs::kRingHeaderBytes +
                                           records * runs::kRecordBytes);
  }
  if (ring_->head() < capacity / 2) return 0;
  return RoundedUp(runs::kRingHeaderBytes + 2 * capacity * runs::kRecordBytes);
}

void RingGrowth::Grow() {
  if (steps_ == 0) return;
  const uint64_t bytes = WantedBytes();
  if (bytes <= ring_->bytes()) return;
  const FileSystem there = FileSystemOf(DirectoryOf(ring_->path()));
  if (there.free_bytes / kShareOfRoom < bytes - ring_->bytes()) {
    return Stop(absl::StrCat("the disk has only ", there.free_bytes >> 20,
                             " MiB left"));
  }
  if (absl::Status status = ring_->Grow(bytes); !status.ok()) {
    Stop(std::string(status.message()));
  }
}

void RingGrowth::Stop(const std::string& reason) {
  const uint64_t fitting =
      ring_->capacity() / std::max<uint64_t>(most_records_, 1);
  log_line_(absl::StrCat(
      "recording: the ring does not grow (", reason, "), so that it keeps ",
      fitting == 0 ? "less than a" : absl::StrCat("the last ", fitting),
      fitting <= 1 ? " step" : " steps"));
  steps_ = 0;
}

}  // namespace graphdbg::recording
