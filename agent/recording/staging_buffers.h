// Memory between the training threads and the thread that writes tensors.
#ifndef AGENT_RECORDING_STAGING_BUFFERS_H_
#define AGENT_RECORDING_STAGING_BUFFERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphdbg::recording {

struct StagedFile;

// A part of a file, aligned for O_DIRECT in memory and in the data of the file.
// Each file begins with a buffer of its own, so small ones keep short steps
// from running out of them.
struct StagingBuffer {
  static constexpr uint64_t kBytes = uint64_t{1} << 20;

  char* memory = nullptr;
  StagedFile* file = nullptr;
  // In the data of the file.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool ends_file = false;
  // Mapped for a tensor that is larger than all buffers.
  bool extra = false;
  // Threads that copy into it.
  std::atomic<uint32_t> copying{0};
};

// Buffers that can be written at once: they follow each other in the memory and
// in the data of one file, as if they were one.
struct StagingRun {
  // How many there are.
  uint64_t count = 0;
  char* memory = nullptr;
  StagedFile* file = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool ends_file = false;
  bool extra = false;
};

// A queue of buffers, used in the order in which they were opened. One thread
// at a time opens and seals them (the caller has a lock for that), another one
// takes and releases them. Neither waits for the other.
class StagingBuffers {
 public:
  static constexpr uint64_t kCount = 64;
  // The most that is mapped besides, for tensors that are larger than these.
  static constexpr uint64_t kMaxExtra = 1'024;
  // Of a run: large writes are faster, and the room of a run that is being
  // written is missed by the training threads.
  static constexpr uint64_t kMaxRun = 8;

  StagingBuffers() = default;
  ~StagingBuffers();
  StagingBuffers(const StagingBuffers&) = delete;
  StagingBuffers& operator=(const StagingBuffers&) = delete;

  // --- Training threads.

  // Maps the memory with the first call. False if there is none.
  bool Map();
  // How many can be opened now.
  uint64_t free() const {
    return kCount - (opened_ - released_.load(std::memory_order_acquire));
  }
  // How many extra ones can be mapped now.
  uint64_t free_extra() const {
    return kMaxExtra - extra_in_use_.load(std::memory_order_acquire);
  }
  // Maps so many extra buffers, which are opened first. False if there is no
  // memory, or too many are in use.
  bool MapExtra(uint64_t count);
  // The next buffer, which is empty. One must be free, or extra ones mapped.
  StagingBuffer* Open();
  // The one that was opened last is complete, apart from threads that still
  // copy.
  void Seal();
  // By number, from 0, in the order in which they were opened.
  StagingBuffer* At(uint64_t number) { return &queue_[number % kQueue]; }
  // How many were opened, extra ones included.
  uint64_t opened() const { return next_; }

  // --- The writing thread.

  // How many sealed buffers there are.
  uint64_t waiting() const {
    return sealed_.load(std::memory_order_acquire) - taken_;
  }
  // The oldest sealed buffers into which no thread copies any more. Empty if
  // there are none.
  StagingRun Oldest();
  // Those buffers may be used again.
  void Release(const StagingRun& run);

 private:
  static constexpr uint64_t kQueue = 2'048;
  static_assert(kQueue >= kCount + kMaxExtra);

  std::array<StagingBuffer, kQueue> queue_;
  char* memory_ = nullptr;
  uint64_t opened_ = 0;
  uint64_t next_ = 0;
  // The next extra one that can be opened.
  char* extra_ = nullptr;
  uint64_t extra_left_ = 0;
  std::atomic<uint64_t> extra_in_use_{0};
  std::atomic<uint64_t> sealed_{0};
  // Not counting extra ones.
  std::atomic<uint64_t> released_{0};

  // The writing thread only.
  uint64_t taken_ = 0;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_STAGING_BUFFERS_H_
