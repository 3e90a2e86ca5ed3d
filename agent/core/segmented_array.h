// An array that can grow while other threads read it.
#ifndef AGENT_CORE_SEGMENTED_ARRAY_H_
#define AGENT_CORE_SEGMENTED_ARRAY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphdbg::agent {

// Elements are value-initialised and never move. Reading takes two loads and no
// lock. Calls of Grow must not overlap. Indices are below kCapacity.
template <class T>
class SegmentedArray {
 public:
  static constexpr uint32_t kSegmentSize = 4096;
  static constexpr uint32_t kSegments = 1024;
  static constexpr uint32_t kCapacity = kSegmentSize * kSegments;

  SegmentedArray() = default;
  SegmentedArray(const SegmentedArray&) = delete;
  SegmentedArray& operator=(const SegmentedArray&) = delete;
  ~SegmentedArray() {
    for (auto& segment : segments_) delete[] segment.load();
  }

  // Null if the array has not grown to the index.
  T* Find(uint32_t index) const {
    if (index >= kCapacity) return nullptr;
    T* segment =
        segments_[index / kSegmentSize].load(std::memory_order_acquire);
    return segment == nullptr ? nullptr : segment + index % kSegmentSize;
  }

  T& Grow(uint32_t index) {
    std::atomic<T*>& slot = segments_[index / kSegmentSize];
    if (slot.load(std::memory_order_relaxed) == nullptr) {
      slot.store(new T[kSegmentSize](), std::memory_order_release);
    }
    return *Find(index);
  }

 private:
  std::array<std::atomic<T*>, kSegments> segments_{};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SEGMENTED_ARRAY_H_
