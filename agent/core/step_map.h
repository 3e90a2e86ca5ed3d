// A hash table whose contents are valid for one step.
#ifndef AGENT_CORE_STEP_MAP_H_
#define AGENT_CORE_STEP_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace graphdbg::agent {

// Maps numbers to values. Clearing takes constant time and keeps the memory,
// which is that of the fullest step so far: it is small and stays in the
// processor's caches. Single entries cannot be removed.
//
// Not thread-safe.
template <class T>
class StepMap {
 public:
  // Null if there is none. Valid until the next call of At or Clear.
  T* Find(uint64_t key) {
    Slot& slot = SlotOf(key);
    return slot.epoch == epoch_ ? &slot.value : nullptr;
  }
  const T* Find(uint64_t key) const {
    return const_cast<StepMap*>(this)->Find(key);
  }

  // Inserts a value-initialised value if there is none. Valid like the result
  // of Find.
  T& At(uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Slot& slot = SlotOf(key);
    if (slot.epoch != epoch_) {
      slot = {key, epoch_, T()};
      ++size_;
    }
    return slot.value;
  }

  void Clear() {
    ++epoch_;
    size_ = 0;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    // The slot is free unless this equals the map's epoch.
    uint64_t epoch = 0;
    T value = T();
  };

  // The slot that has the key, or the free one where it would be inserted. The
  // table is never full.
  Slot& SlotOf(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    // The multiplication mixes the key into the high bits.
    size_t i = (key * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots_[i].epoch == epoch_ && slots_[i].key != key)
      i = (i + 1) & mask;
    return slots_[i];
  }

  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.epoch == epoch_) SlotOf(slot.key) = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t size_ = 0;
  uint64_t epoch_ = 1;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_STEP_MAP_H_
