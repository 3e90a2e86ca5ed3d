// References to tensors of the current step, so that they can be looked at
// while the program is stopped.
#ifndef AGENT_CORE_KEPT_TENSORS_H_
#define AGENT_CORE_KEPT_TENSORS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/core/host.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// One tensor whose memory is held until the last copy of its pointer goes.
class KeptTensor {
 public:
  // Retains the tensor's owner.
  KeptTensor(const Host* host, const graphdbg_tensor& tensor, uint64_t step,
             uint64_t writes);
  KeptTensor(const KeptTensor&) = delete;
  KeptTensor& operator=(const KeptTensor&) = delete;
  ~KeptTensor();

  // Points into this object.
  graphdbg_tensor tensor() const;

  uint64_t step() const { return step_; }
  uint64_t storage_id() const { return tensor_.storage_id; }
  // How often its storage had been written when it was kept.
  uint64_t writes() const { return writes_; }

 private:
  const Host* const host_;
  graphdbg_tensor tensor_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::string framework_dtype_;
  const uint64_t step_;
  const uint64_t writes_;
};

// Any thread, but Keep must be called where host.retain may be. References are
// released by the thread that drops the last one, without a lock held.
class KeptTensors {
 public:
  // `host` must outlive this. Views of one storage count once against the
  // budget, by the largest of them.
  KeptTensors(const Host* host, int64_t budget_bytes)
      : host_(host), budget_bytes_(budget_bytes) {}

  // Replaces an older one; drops the oldest where the budget demands it.
  // Without effect if the tensor cannot be kept.
  void Keep(uint32_t node, uint32_t slot, const graphdbg_tensor& tensor,
            uint64_t step);
  bool Has(uint32_t node, uint32_t slot) const;

  // The storage was written in place.
  void NoteWrite(uint64_t storage_id);

  // Null if there is none.
  std::shared_ptr<const KeptTensor> Find(uint32_t node, uint32_t slot) const;
  // Whether its storage was written in place since it was kept, or may have
  // been since it is not followed any more.
  bool Overwritten(const KeptTensor& tensor) const;

  int64_t bytes() const;
  void Clear();

 private:
  struct Entry {
    uint64_t key;
    // 0: not known; then the tensor counts on its own.
    uint64_t storage_id;
    int64_t bytes;
    std::shared_ptr<const KeptTensor> tensor;
  };
  struct Storage {
    int64_t bytes = 0;
    uint64_t writes = 0;
    uint32_t tensors = 0;
  };
  using Entries = std::list<Entry>;

  // With mu_ held. What is dropped goes to `dropped`.
  void Remove(Entries::iterator it, Entries* dropped);
  void Account(const Entry& entry);

  const Host* const host_;
  const int64_t budget_bytes_;

  mutable std::mutex mu_;
  // All below guarded by mu_. The oldest entry is the first.
  Entries entries_;
  std::unordered_map<uint64_t, Entries::iterator> index_;
  std::unordered_map<uint64_t, Storage> storages_;
  int64_t bytes_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_KEPT_TENSORS_H_
