#ifndef AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
#define AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_

#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <vector>

namespace graphdbg::pytorch {

// An output of a node; node is 0 if unknown.
struct Origin {
  uint32_t node = 0;
  uint32_t slot = 0;
};

// The nodes that produced the contents of storages.
//
// Keyed by storage, because views, detach() and .data all create new tensors of
// the same storage, and within it by the view's layout, so that consumers of a
// view refer to the view and those of the base to the base.
//
// Most steps look for no producer, so outputs are only listed until one is
// looked for. They are never dereferenced, and the tape holds them, so that
// their addresses are not reused in the same step. Storages of persistent
// tensors are held here, by weak references.
//
// Not thread-safe.
class Producers {
 public:
  // `overwrote` means that the op wrote to existing memory, which invalidates
  // the producers of other views of it.
  void RecordOutput(const c10::StorageImpl* storage, uint64_t view,
                    Origin origin, bool overwrote) {
    outputs_.push_back({storage, view, origin, overwrote});
  }

  // Records a parameter or buffer, which persists across steps and writes.
  void RecordPersistent(c10::StorageImpl* storage, uint64_t view,
                        Origin origin);

  Origin Find(const c10::StorageImpl* storage, uint64_t view);

  // Forgets all but those of RecordPersistent().
  void EndStep();

 private:
  static constexpr uint32_t kMaxViews = 64;

  struct Output {
    const c10::StorageImpl* storage;
    uint64_t view;
    Origin origin;
    bool overwrote;
  };
  struct View {
    uint64_t signature;
    Origin origin;
  };
  struct Entry {
    // The first entry is the producer of the whole storage.
    c10::SmallVector<View, 2> views;
    uint32_t replaced = 0;
  };
  struct Persistent {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    c10::SmallVector<View, 2> views;
  };
  template <typename Value>
  using ByStorage = ska::flat_hash_map<const c10::StorageImpl*, Value>;

  // Enters the outputs of the list into the table.
  void SortOutputs();
  void Sort(const Output& output);

  std::vector<Output> outputs_;
  ByStorage<Entry> outputs_by_storage_;
  ByStorage<Persistent> persistent_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
