// References to tensors of the current step, so that their values can be read
// while the program is paused.
#ifndef AGENT_CORE_KEPT_TENSORS_H_
#define AGENT_CORE_KEPT_TENSORS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/base/mutex.h"
#include "agent/core/execution.h"
#include "agent/core/host.h"
#include "agent/core/step_map.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// A reference to the owner of a tensor's memory.
class OwnerRef {
 public:
  OwnerRef(const Host* host, void* owner) : host_(host), owner_(owner) {
    host_->Retain(owner_);
  }
  OwnerRef(OwnerRef&& other) noexcept
      : host_(other.host_), owner_(std::exchange(other.owner_, nullptr)) {}
  OwnerRef& operator=(OwnerRef&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~OwnerRef() {
    if (owner_ != nullptr) host_->Release(owner_);
  }

 private:
  const Host* host_;
  void* owner_;
};

// A tensor whose memory is kept alive by this object.
class KeptTensor {
 public:
  // Shape and strides are copied.
  KeptTensor(OwnerRef owner, const graphdbg_tensor& tensor, uint64_t step,
             uint64_t writes);
  KeptTensor(const KeptTensor&) = delete;
  KeptTensor& operator=(const KeptTensor&) = delete;

  // Points into this object.
  const graphdbg_tensor& tensor() const { return tensor_; }

  uint64_t step() const { return step_; }
  uint64_t storage_id() const { return tensor_.storage_id; }
  // How often its storage had been written to when it was kept.
  uint64_t writes() const { return writes_; }

 private:
  const OwnerRef owner_;
  graphdbg_tensor tensor_;
  // Shape, then strides if there are any.
  absl::InlinedVector<int64_t, 8> dimensions_;
  const uint64_t step_;
  const uint64_t writes_;
};

// Any thread, but Keep must be called where host.retain may be called.
// References are released by the thread that drops the last one, without a lock
// held.
//
// Keep runs on training threads: once its tables have grown, it allocates
// nothing. Most steps end without anybody having asked for a tensor, so those
// that are kept are only listed at first, and entered into the tables when
// somebody asks or the list has become long or large. Until then, values that
// newer ones of the same slot replace are kept too.
class KeptTensors {
 public:
  // `host` must outlive this, and this must outlive the tensors that it
  // returns. Views of one storage count once against the budget, by the largest
  // of them.
  KeptTensors(const Host* host, int64_t budget_bytes)
      : host_(host), budget_bytes_(budget_bytes) {}

  // Replaces an earlier value of the same slot. Drops the oldest tensors if the
  // budget requires it. Has no effect if the tensor cannot be kept.
  void Keep(uint32_t node, uint32_t slot, const graphdbg_tensor& tensor,
            uint64_t step);
  // The same for all outputs of a node. `wrote`: the node wrote to memory that
  // existed before, so that tensors kept of it are overwritten.
  void KeepOutputs(uint32_t node, const TensorArray& tensors, bool wrote,
                   uint64_t step);
  bool Has(uint32_t node, uint32_t slot);

  // The storage was written to in place.
  void RecordWrite(uint64_t storage_id);

  // Null if there is none.
  std::shared_ptr<const KeptTensor> Find(uint32_t node, uint32_t slot);
  // Whether its storage was written to in place since it was kept, or may have
  // been because it is no longer followed.
  bool Overwritten(const KeptTensor& tensor);

  struct Kept {
    uint32_t node;
    uint32_t slot;
    std::shared_ptr<const KeptTensor> tensor;
  };
  // In the order in which they were kept.
  std::vector<Kept> All();
  bool HasAnyOf(uint32_t node);

  int64_t bytes();
  void Clear();
  // Releases all tensors except those of these nodes.
  void ClearExcept(const std::set<uint32_t>& nodes);
  // From now on, this much of the budget is used by others.
  void Reserve(int64_t bytes) { reserved_bytes_ = bytes; }

 private:
  struct Entry {
    Entry(uint64_t new_key, const graphdbg_tensor& value, OwnerRef reference)
        : key(new_key), tensor(value), owner(std::move(reference)) {}

    uint64_t key;
    // Its storage is 0 if unknown; then the tensor counts separately. Shape and
    // strides are in dimensions_, from `dimensions` on.
    graphdbg_tensor tensor;
    size_t dimensions = 0;
    int64_t bytes = 0;
    uint64_t step = 0;
    // Once it is entered into the tables.
    uint64_t writes = 0;
    // The node wrote to memory that existed before.
    bool wrote = false;
    bool dropped = false;
    // The owner until somebody asks for the tensor, then the tensor.
    mutable std::optional<OwnerRef> owner;
    mutable std::shared_ptr<const KeptTensor> shared;
  };
  // Followed while tensors of it are kept.
  struct Storage {
    int64_t bytes = 0;
    uint64_t writes = 0;
    uint32_t tensors = 0;
  };
  struct DroppedTensor {
    std::optional<OwnerRef> owner;
    std::shared_ptr<const KeptTensor> shared;
  };
  using Dropped = absl::InlinedVector<DroppedTensor, 4>;

  // Tensors are released when `dropped` goes out of scope, after the lock.
  void KeepLocked(uint64_t key, const graphdbg_tensor& tensor, bool wrote,
                  uint64_t step, Dropped* dropped) GRAPHDBG_REQUIRES(mu_);
  // Returns false if the tensor cannot be kept.
  bool List(uint64_t key, const graphdbg_tensor& tensor, bool wrote,
            uint64_t step) GRAPHDBG_REQUIRES(mu_);
  // Enters what is only listed into the tables.
  void EnterListed(Dropped* dropped) GRAPHDBG_REQUIRES(mu_);
  void Enter(uint32_t number, Dropped* dropped) GRAPHDBG_REQUIRES(mu_);
  // How much of the budget is not used by others.
  int64_t budget() const { return budget_bytes_ - reserved_bytes_; }
  // Returns how often the storage of a tensor has been written to.
  uint64_t Account(uint64_t storage_id, int64_t bytes) GRAPHDBG_REQUIRES(mu_);
  void Sweep() GRAPHDBG_REQUIRES(mu_);
  // Removes the entries of dropped tensors.
  void Compact() GRAPHDBG_REQUIRES(mu_);
  void Remove(Entry* entry, Dropped* dropped) GRAPHDBG_REQUIRES(mu_);
  void RecordWriteLocked(uint64_t storage_id) GRAPHDBG_REQUIRES(mu_);
  size_t AddDimensions(const graphdbg_tensor& tensor) GRAPHDBG_REQUIRES(mu_);
  // Only among those in the tables.
  const Entry* FindEntry(uint64_t key) const GRAPHDBG_REQUIRES(mu_);
  // The tensor of an entry that is not dropped.
  std::shared_ptr<const KeptTensor> Share(const Entry& entry) const
      GRAPHDBG_REQUIRES(mu_);
  // A copy of the dtype's name that lives as long as this object.
  const char* NameOfDtype(const graphdbg_tensor& tensor) GRAPHDBG_REQUIRES(mu_);
  const char* Intern(const char* framework_dtype) GRAPHDBG_REQUIRES(mu_);

  const Host* const host_;
  const int64_t budget_bytes_;
  std::atomic<int64_t> reserved_bytes_{0};

  mutable Mutex mu_;
  // In the order in which they were kept; those before oldest_ are dropped, and
  // those from listed_from_ on only listed.
  std::vector<Entry> entries_ GRAPHDBG_GUARDED_BY(mu_);
  size_t listed_from_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  int64_t listed_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::vector<int64_t> dimensions_ GRAPHDBG_GUARDED_BY(mu_);
  size_t oldest_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t live_entries_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // Tables of the entries before listed_from_. The index of an entry is valid
  // only if the entry has the key.
  StepMap<uint32_t> index_ GRAPHDBG_GUARDED_BY(mu_);
  StepMap<Storage> storages_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t times_followed_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  int64_t bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::deque<std::string> dtype_names_ GRAPHDBG_GUARDED_BY(mu_);
  // The dtype of the tensor that was kept last, and the copy of its name.
  const char* last_framework_dtype_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  int32_t last_dtype_ GRAPHDBG_GUARDED_BY(mu_) = GRAPHDBG_DTYPE_OTHER;
  const char* name_of_last_dtype_ GRAPHDBG_GUARDED_BY(mu_) = "";
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_KEPT_TENSORS_H_
