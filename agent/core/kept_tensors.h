// References to tensors of the current step, so that they can be looked at
// while the program is stopped.
#ifndef AGENT_CORE_KEPT_TENSORS_H_
#define AGENT_CORE_KEPT_TENSORS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/core/execution.h"
#include "agent/core/host.h"
#include "agent/core/step_map.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// One tensor whose memory is held until the last copy of its pointer goes.
class KeptTensor {
 public:
  // Retains the tensor's owner. `framework_dtype` outlives it.
  KeptTensor(const Host* host, const graphdbg_tensor& tensor,
             const char* framework_dtype, uint64_t step, uint64_t writes);
  KeptTensor(const KeptTensor&) = delete;
  KeptTensor& operator=(const KeptTensor&) = delete;
  ~KeptTensor() { host_->Release(tensor_.owner); }

  // Points into this object.
  const graphdbg_tensor& tensor() const { return tensor_; }

  uint64_t step() const { return step_; }
  uint64_t storage_id() const { return tensor_.storage_id; }
  // How often its storage had been written when it was kept.
  uint64_t writes() const { return writes_; }

 private:
  const Host* const host_;
  graphdbg_tensor tensor_;
  // Shape, then strides if there are any.
  absl::InlinedVector<int64_t, 8> dimensions_;
  const uint64_t step_;
  const uint64_t writes_;
};

// Any thread, but Keep must be called where host.retain may be. References are
// released by the thread that drops the last one, without a lock held.
//
// Keep is on the program's own path: once its tables have grown, it makes one
// small allocation for each tensor.
class KeptTensors {
 public:
  // `host` must outlive this, and this all that it gave out. Views of one
  // storage count once against the budget, by the largest of them.
  KeptTensors(const Host* host, int64_t budget_bytes)
      : host_(host), budget_bytes_(budget_bytes) {}

  // Replaces an older one; drops the oldest where the budget demands it.
  // Without effect if the tensor cannot be kept.
  void Keep(uint32_t node, uint32_t slot, const graphdbg_tensor& tensor,
            uint64_t step);
  // The same for all outputs of a node. `wrote`: it wrote into memory that was
  // there before, so that what was kept of it is overwritten.
  void KeepOutputs(uint32_t node, const TensorArray& tensors, bool wrote,
                   uint64_t step);
  bool Has(uint32_t node, uint32_t slot) const;

  // The storage was written in place.
  void RecordWrite(uint64_t storage_id);

  // Null if there is none.
  std::shared_ptr<const KeptTensor> Find(uint32_t node, uint32_t slot) const;
  // Whether its storage was written in place since it was kept, or may have
  // been since it is not followed any more.
  bool Overwritten(const KeptTensor& tensor) const;

  struct Kept {
    uint32_t node;
    uint32_t slot;
    std::shared_ptr<const KeptTensor> tensor;
  };
  // In the order in which they were kept.
  std::vector<Kept> All() const;
  bool HasAnyOf(uint32_t node) const;

  int64_t bytes() const;
  void Clear();
  // All but those of these nodes.
  void ClearExcept(const std::set<uint32_t>& nodes);
  // So much of the budget is used elsewhere from now on.
  void Reserve(int64_t bytes) { reserved_bytes_ = bytes; }

 private:
  struct Entry {
    uint64_t key;
    // 0: not known; then the tensor counts on its own.
    uint64_t storage_id;
    int64_t bytes;
    // Null: dropped.
    std::shared_ptr<const KeptTensor> tensor;
  };
  // It is followed while tensors of it are kept.
  struct Storage {
    int64_t bytes = 0;
    uint64_t writes = 0;
    uint32_t tensors = 0;
  };
  using Dropped = absl::InlinedVector<std::shared_ptr<const KeptTensor>, 4>;

  // With mu_ held. What is dropped goes to `dropped`.
  void KeepLocked(uint64_t key, const graphdbg_tensor& tensor, uint64_t step,
                  Dropped* dropped);
  // The writes there are to the storage of a tensor that is kept from now on.
  uint64_t Account(uint64_t storage_id, int64_t bytes);
  void Sweep();
  // Drops the places of what was dropped.
  void Compact();
  void Remove(Entry* entry, Dropped* dropped);
  void RecordWriteLocked(uint64_t storage_id);
  const Entry* FindEntry(uint64_t key) const;
  const char* Intern(const char* framework_dtype);

  const Host* const host_;
  const int64_t budget_bytes_;
  std::atomic<int64_t> reserved_bytes_{0};

  mutable std::mutex mu_;
  // All below guarded by mu_. In the order in which they were kept; those
  // before oldest_ are dropped.
  std::vector<Entry> entries_;
  size_t oldest_ = 0;
  size_t live_entries_ = 0;
  // From key to entry, if that has the key.
  StepMap<uint32_t> index_;
  StepMap<Storage> storages_;
  uint64_t times_followed_ = 0;
  int64_t bytes_ = 0;
  // Its memory is used again.
  std::vector<Entry> spare_;
  std::deque<std::string> dtype_names_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_KEPT_TENSORS_H_
