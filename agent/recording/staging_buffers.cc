#include "agent/recording/staging_buffers.h"

#include <sys/mman.h>

namespace graphdbg::recording {
namespace {

// Null if there is no memory. A child has no use for it, and a core dump has
// enough without.
char* MapMemory(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Fewer faults for the training threads, and fewer pages to pin for each
  // direct write. Not all systems have them.
  madvise(memory, bytes, MADV_HUGEPAGE);
  madvise(memory, bytes, MADV_DONTFORK);
  madvise(memory, bytes, MADV_DONTDUMP);
  return static_cast<char*>(memory);
}

}  // namespace

StagingBuffers::~StagingBuffers() {
  while (taken_ < next_) {
    const StagingBuffer& buffer = *At(taken_++);
    if (buffer.extra) munmap(buffer.memory, StagingBuffer::kBytes);
  }
  if (extra_left_ > 0) munmap(extra_, extra_left_ * StagingBuffer::kBytes);
  if (memory_ != nullptr) munmap(memory_, kCount * StagingBuffer::kBytes);
}

bool StagingBuffers::MapExtra(uint64_t count) {
  if (count > free_extra()) return false;
  extra_ = MapMemory(count * StagingBuffer::kBytes);
  if (extra_ == nullptr) return false;
  extra_left_ = count;
  extra_in_use_.fetch_add(count, std::memory_order_relaxed);
  return true;
}

bool StagingBuffers::Map() {
  if (memory_ == nullptr) memory_ = MapMemory(kCount * StagingBuffer::kBytes);
  return memory_ != nullptr;
}

StagingBuffer* StagingBuffers::Open() {
  StagingBuffer* const buffer = At(next_++);
  buffer->extra = extra_left_ > 0;
  if (buffer->extra) {
    buffer->memory = extra_;
    extra_ += StagingBuffer::kBytes;
    --extra_left_;
  } else {
    buffer->memory = memory_ + opened_++ % kCount * StagingBuffer::kBytes;
  }
  buffer->file = nullptr;
  buffer->offset = 0;
  buffer->bytes = 0;
  buffer->ends_file = false;
  return buffer;
}

void StagingBuffers::Seal() { sealed_.store(next_, std::memory_order_release); }

StagingRun StagingBuffers::Oldest() {
  StagingRun run;
  const uint64_t sealed = sealed_.load(std::memory_order_acquire);
  for (uint64_t n = taken_; n < sealed && run.count < kMaxRun; ++n) {
    const StagingBuffer& buffer = *At(n);
    if (buffer.copying.load(std::memory_order_acquire) > 0) break;
    if (run.count == 0) {
      run.memory = buffer.memory;
      run.file = buffer.file;
      run.offset = buffer.offset;
      run.extra = buffer.extra;
    } else if (buffer.memory != run.memory + run.bytes ||
               buffer.extra != run.extra) {
      break;
    }
    ++run.count;
    run.bytes += buffer.bytes;
    run.ends_file = buffer.ends_file;
    // Only the last one of a file is not full.
    if (run.ends_file) break;
  }
  return run;
}

void StagingBuffers::Release(const StagingRun& run) {
  taken_ += run.count;
  if (run.extra) {
    munmap(run.memory, run.count * StagingBuffer::kBytes);
    extra_in_use_.fetch_sub(run.count, std::memory_order_release);
  } else {
    released_.fetch_add(run.count, std::memory_order_release);
  }
}

}  // namespace graphdbg::recording
