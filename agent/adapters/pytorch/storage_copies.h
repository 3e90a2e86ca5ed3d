#ifndef AGENT_ADAPTERS_PYTORCH_STORAGE_COPIES_H_
#define AGENT_ADAPTERS_PYTORCH_STORAGE_COPIES_H_

#include <c10/core/StorageImpl.h>

#include <unordered_map>
#include <vector>

#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {

// Copies of storages. The memory of those that are given back is used again,
// since the first write to new memory takes several times as long as later
// ones. Not thread-safe.
class SpareStorages {
 public:
  // A copy of all bytes of a storage, on its device.
  StorageRef CopyOf(c10::StorageImpl* storage);
  // Keeps a copy that nobody else uses for the next call of CopyOf.
  void GiveBack(StorageRef copy);
  // Releases what has not been used since the last call.
  void ReleaseUnused();

 private:
  struct OfSize {
    std::vector<StorageRef> copies;
    bool used = false;
  };
  // By size; memory of the CPU only, because other allocators do this
  // themselves.
  std::unordered_map<size_t, OfSize> spare_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_STORAGE_COPIES_H_
