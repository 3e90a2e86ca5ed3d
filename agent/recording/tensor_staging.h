// Where training threads leave the tensors that are to be saved.
#ifndef AGENT_RECORDING_TENSOR_STAGING_H_
#define AGENT_RECORDING_TENSOR_STAGING_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/core/recording.h"
#include "agent/recording/safetensors_header.h"
#include "agent/recording/staging_buffers.h"
#include "proto/runs/record.h"

namespace graphdbg::recording {

// A file of the tensors of a step, as it is filled. The writer may read a
// tensor once the buffers that contain it are no longer copied into.
struct StagedFile {
  static constexpr uint32_t kMaxTensors = 4'096;
  static constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

  // From its begin until the writer has finished it, or given it up.
  std::atomic<bool> in_use{false};
  uint64_t step = 0;
  // From 1.
  uint32_t number = 1;
  runs::Mode mode = runs::Mode::kUnknown;
  // Where the data begin in the file.
  uint64_t data_start = kDefaultDataStart;
  // The most that its header can take so far.
  uint64_t header_bytes = 0;
  uint64_t data_bytes = 0;
  uint32_t count = 0;

  struct Entry {
    runs::Record record;
    absl::string_view node_name;
  };
  // The first `count` are those of the file. They stay where they are, because
  // threads fill them in while others are added.
  Entry* At(uint32_t index) const {
    return &segments[index / kSegment][index % kSegment];
  }
  // Allocates memory for it, unless an earlier file of this place had as many.
  Entry* Add();

  static constexpr uint32_t kSegment = 64;
  std::array<std::unique_ptr<Entry[]>, kMaxTensors / kSegment> segments;
};

// Tensors are copied once, into buffers that the writing thread empties. If
// there is no room, or the limits are reached, a tensor is refused as a whole.
class TensorStaging {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    // Bytes of tensors in all.
    uint64_t bytes = UINT64_MAX;
    // Bytes per second; 0: none until SetRate.
    double rate = 0;
  };

  // `sealed` is called, without a lock held, when there is a buffer to write.
  TensorStaging(const FileOwner& owner, const Limits& limits,
                std::function<void()> sealed);

  // --- Training threads. They take a lock among themselves while they reserve
  // room, never one that the writing thread takes.

  // Copies the values, and fills in the fields of a record of kind 5 apart from
  // the key, which is there. False if the tensor is refused.
  bool Save(const agent::TensorToSave& tensor, runs::Record* record)
      GRAPHDBG_EXCLUDES(mu_);
  // Whether a tensor of this size would find room, or waiting does not help.
  // May end the open file so that the writing thread makes room.
  bool HasRoom(uint64_t bytes) GRAPHDBG_EXCLUDES(mu_);
  // No more tensors of this step follow.
  void EndStep() GRAPHDBG_EXCLUDES(mu_);
  // The bytes saved so far.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  bool reached_limit() const {
    return reached_limit_.load(std::memory_order_relaxed);
  }

  // --- The writing thread.

  StagingBuffers& buffers() { return buffers_; }
  // Tensors are refused until further notice, or accepted again.
  void SetPaused(bool paused) { paused_ = paused; }
  void SetRate(double bytes_per_second) { rate_ = bytes_per_second; }
  bool has_rate() const { return rate_ > 0; }

 private:
  // The place of a tensor, in consecutive buffers.
  struct Range {
    StagedFile::Entry* entry;
    uint64_t first_buffer;
    // In the first buffer.
    uint64_t begin;
    uint64_t last_buffer;
  };

  // Finds room for a tensor, of which the record has the size, and sets the
  // place in the record.
  bool Reserve(const agent::TensorToSave& tensor, runs::Record* record,
               Range* range) GRAPHDBG_REQUIRES(mu_);
  // One that is not in use; null if there is none.
  StagedFile* FreeFile() GRAPHDBG_REQUIRES(mu_);
  bool NeedsNewFile(const runs::Record& record, uint64_t entry_bytes) const
      GRAPHDBG_REQUIRES(mu_);
  bool IsWithinLimits(uint64_t bytes, double share) GRAPHDBG_REQUIRES(mu_);
  // Makes sure that so many buffers can be opened, or so many extra ones, and
  // leaves those that are beyond the share.
  bool ProvideBuffers(uint64_t needed, bool extra, double share)
      GRAPHDBG_REQUIRES(mu_);
  void BeginFile(StagedFile* file, const runs::Record& record,
                 uint64_t entry_bytes) GRAPHDBG_REQUIRES(mu_);
  void OpenBuffer() GRAPHDBG_REQUIRES(mu_);
  void EndFile() GRAPHDBG_REQUIRES(mu_);
  // Returns the checksum.
  uint32_t Copy(const TensorView& view, const Range& range);

  // At most one for each buffer, and one that is begun.
  static constexpr uint64_t kFiles = StagingBuffers::kCount + 2;

  const FileOwner owner_;
  const uint64_t max_bytes_;
  const std::function<void()> sealed_;

  StagingBuffers buffers_;
  std::atomic<bool> paused_{false};
  std::atomic<bool> reached_limit_{false};
  std::atomic<double> rate_;
  std::atomic<uint64_t> bytes_{0};

  Mutex mu_;
  std::array<StagedFile, kFiles> files_ GRAPHDBG_GUARDED_BY(mu_);
  // Null between steps.
  StagedFile* file_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  StagingBuffer* buffer_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  // Files that were begun in the newest step that has any.
  uint64_t step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint32_t files_of_step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The bytes that the headers of that step and of the one before need.
  uint64_t header_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint64_t last_header_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // Bytes that may be saved at once, since the time before was not used.
  double unused_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  Clock::time_point refilled_at_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_TENSOR_STAGING_H_
