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
  if (count > kMaxExtra || extra_in_use_.load(std::memory_order_acquire) > 0) {
    return false;
  }
  extra_ = MapMemory(count * StagingBuffer::kBytes);
  if (extra_ == nullptr) return false;
  extra_left_ = count;
  extra_in_use_.store(count, std::memory_order_relaxed);
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

StagingBuffer* StagingBuffers::Oldest() {
  if (taken_ == sealed_.load(std::memory_order_acquire)) return nullptr;
  StagingBuffer* const buffer = At(taken_);
  return buffer->copying.load(std::memory_order_acquire) == 0 ? buffer
                                                              : nullptr;
}

void StagingBuffers::Release() {
  const StagingBuffer& buffer = *At(taken_++);
  if (buffer.extra) {
    munmap(buffer.memory, StagingBuffer::kBytes);
    extra_in_use_.fetch_sub(1, std::memory_order_release);
  } else {
    released_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace graphdbg::recording
