#include "agent/recording/tensor_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

// The rate is measured over so many bytes.
constexpr uint64_t kMeasuredBytes = uint64_t{2} << 30;
constexpr double kShareOfRate = 0.5;

// Whether writing bypasses the page cache from now on, if asked to.
bool SetDirect(const File& file, bool direct) {
  const int flags = fcntl(file.fd(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return fcntl(file.fd(), F_SETFL, wanted) == 0 && direct;
}

uint64_t AlignUp(uint64_t bytes) {
  return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

}  // namespace

void TensorWriter::Write(bool last) {
  if (staging_->bytes() == 0 && !staging_->reached_limit()) return;
  PauseOrResume();
  StagingBuffers& buffers = staging_->buffers();
  // What is staged from now on waits for the next round.
  for (int64_t left = static_cast<int64_t>(buffers.waiting()); left > 0;) {
    const StagingRun run = buffers.Oldest();
    if (run.count == 0) break;
    WriteRun(run);
    buffers.Release(run);
    left -= static_cast<int64_t>(run.count);
  }
  if (last) finisher_.Wait();
  if (absl::Status status = finisher_.TakeError(); !status.ok()) Fail(status);
}

void TensorWriter::PauseOrResume() {
  if (staging_->reached_limit() && !logged_limit_) {
    logged_limit_ = true;
    callbacks_.log(
        "the run has as many bytes of values as it may have "
        "(record.max_bytes), so only statistics are recorded from now on");
  }
  staging_->SetPaused(IsPaused() || !CheckRoom().ok());
}

bool TensorWriter::IsPaused() const {
  return gave_up_ || Clock::now() < paused_until_;
}

absl::Status TensorWriter::CheckRoom() const {
  const FileSystem disk = FileSystemOf(options_.directory);
  const double needed =
      static_cast<double>(disk.total_bytes) * (1 - options_.full_share);
  if (static_cast<double>(disk.free_bytes) >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the disk of ", options_.directory, " is more than ",
                   options_.full_share * 100, " % full"));
}

void TensorWriter::WriteRun(const StagingRun& run) {
  StagedFile& staged = *run.file;
  absl::Status status;
  if (run.offset == 0) {
    written_ = 0;
    // Tensors staged before a failure are dropped so that they do not fill the
    // disk.
    if (!IsPaused()) status = Begin(staged);
  }
  if (status.ok() && file_.is_open()) status = WriteData(run);
  if (!status.ok()) Fail(status);
  if (!run.ends_file) return;
  if (file_.is_open()) {
    if (status = End(staged); !status.ok()) Fail(status);
  } else {
    CountLost(staged);
  }
  staged.in_use.store(false, std::memory_order_release);
}

absl::Status TensorWriter::Begin(const StagedFile& staged) {
  RETURN_IF_ERROR(MakeDirectories(options_.directory));
  RETURN_IF_ERROR(CheckRoom());
  data_start_ = staged.data_start;
  path_ =
      Join(options_.directory, runs::TensorFile(staged.step, staged.number));
  ASSIGN_OR_RETURN(file_, File::Create(absl::StrCat(path_, runs::kPartSuffix)));
  // The header must find room when the data have filled the disk. Where that
  // cannot be had otherwise, it is written twice.
  const int error =
      posix_fallocate(file_.fd(), 0, static_cast<off_t>(data_start_));
  const absl::Status allocated = ErrorOf(error, "allocate", path_);
  if (absl::IsResourceExhausted(allocated)) return allocated;
  direct_ = SetDirect(file_, true);
  // Readers of an unfinished file learn where its data begin.
  return WriteHeader({}, allocated.ok() ? kDataAlignment : data_start_);
}

absl::Status TensorWriter::WriteData(const StagingRun& run) {
  RETURN_IF_ERROR(CheckRoom());
  // The file is cut to its size when it ends.
  const uint64_t aligned = AlignUp(run.bytes);
  std::memset(run.memory + run.bytes, 0, aligned - run.bytes);
  const Clock::time_point begin = Clock::now();
  RETURN_IF_ERROR(
      WriteAligned(data_start_ + run.offset, {run.memory, aligned}));
  written_ = run.offset + run.bytes;
  MeasureRate(aligned, Clock::now() - begin);
  return absl::OkStatus();
}

absl::Status TensorWriter::WriteHeader(const std::vector<SavedTensor>& tensors,
                                       uint64_t bytes) {
  // It is aligned behind what it is appended to.
  header_.clear();
  header_.reserve(kDataAlignment + data_start_);
  const uint64_t before =
      -reinterpret_cast<uintptr_t>(header_.data()) % kDataAlignment;
  header_.append(before, ' ');
  AppendHeader(owner_, tensors, data_start_, &header_);
  return WriteAligned(0, absl::string_view(header_).substr(before, bytes));
}

absl::Status TensorWriter::WriteAligned(uint64_t offset,
                                        absl::string_view bytes) {
  if (!direct_) return WriteBuffered(offset, bytes);
  const absl::Status status = file_.WriteAt(offset, bytes);
  if (!absl::IsUnavailable(status)) return status;
  // Some file systems refuse direct writes only here.
  direct_ = SetDirect(file_, false);
  return WriteBuffered(offset, bytes);
}

absl::Status TensorWriter::WriteBuffered(uint64_t offset,
                                         absl::string_view bytes) {
  RETURN_IF_ERROR(file_.WriteAt(offset, bytes));
  // Otherwise, tensors would push everything else out of the page cache. Where
  // this is not supported, they do.
  const auto begin = static_cast<off_t>(offset);
  const auto size = static_cast<off_t>(bytes.size());
  sync_file_range(file_.fd(), begin, size,
                  SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(file_.fd(), begin, size, POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

absl::Status TensorWriter::End(const StagedFile& staged) {
  std::vector<SavedTensor> tensors;
  tensors.reserve(staged.count);
  for (uint32_t i = 0; i < staged.count; ++i) {
    const StagedFile::Entry& entry = *staged.At(i);
    tensors.push_back({&entry.record, entry.node_name});
  }
  RETURN_IF_ERROR(WriteHeader(tensors, data_start_));
  const auto size = static_cast<off_t>(data_start_ + staged.data_bytes);
  RETURN_IF_ERROR(
      ErrorOf(ftruncate(file_.fd(), size) == 0 ? 0 : errno, "cut", path_));
  logged_failure_ = false;
  finisher_.Add(std::exchange(file_, File()), path_);
  return absl::OkStatus();
}

void TensorWriter::MeasureRate(uint64_t bytes, Clock::duration time) {
  if (!options_.limits_rate || staging_->has_rate()) return;
  measured_bytes_ += bytes;
  measured_time_ += time;
  if (measured_bytes_ < kMeasuredBytes) return;
  const std::chrono::duration<double> seconds = measured_time_;
  staging_->SetRate(kShareOfRate * static_cast<double>(measured_bytes_) /
                    seconds.count());
}

void TensorWriter::Fail(const absl::Status& status) {
  // A partly written file stays: readers find its tensors by the records.
  if (file_.is_open() && written_ == 0) unlink(file_.path().c_str());
  file_ = File();
  const bool full = absl::IsResourceExhausted(status);
  if (full) {
    paused_until_ = Clock::now() + options_.retry_period;
  } else {
    gave_up_ = true;
  }
  staging_->SetPaused(true);
  if (std::exchange(logged_failure_, true)) return;
  callbacks_.log(absl::StrCat(
      status.message(), full ? "; no values are recorded until there is room"
                             : "; no more values are recorded"));
}

void TensorWriter::CountLost(const StagedFile& staged) {
  uint64_t lost = 0;
  for (uint32_t i = 0; i < staged.count; ++i) {
    const runs::TensorFields& tensor = staged.At(i)->record.tensor;
    if (tensor.offset + tensor.bytes > written_) ++lost;
  }
  callbacks_.lost(lost);
}

}  // namespace graphdbg::recording
