#ifndef AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
#define AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_

#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

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
// view refer to the view and those of the base to the base. Storages are held
// by weak references: their data can be freed, but their addresses are not
// reused while the entry exists.
//
// Not thread-safe.
class Producers {
 public:
  // `overwrote` means that the op wrote to existing memory, which invalidates
  // the producers of other views of it.
  void RecordOutput(c10::StorageImpl* storage, uint64_t view, Origin origin,
                    bool overwrote);

  // Records a parameter or buffer, which persists across steps and writes.
  void RecordPersistent(c10::StorageImpl* storage, uint64_t view,
                        Origin origin);

  Origin Find(c10::StorageImpl* storage, uint64_t view) const;

  // Removes all entries except those of RecordPersistent().
  void EndStep();

 private:
  static constexpr uint32_t kMaxViews = 64;

  struct View {
    uint64_t signature;
    Origin origin;
  };
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    // The first entry is the producer of the whole storage.
    c10::SmallVector<View, 2> views;
    uint32_t replaced = 0;
  };
  using Map = ska::flat_hash_map<c10::StorageImpl*, Entry>;

  static Entry& EntryFor(Map* map, c10::StorageImpl* storage);

  Map outputs_by_storage_;
  Map persistent_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
