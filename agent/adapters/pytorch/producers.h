#ifndef AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
#define AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_

#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

namespace graphdbg::pytorch {

// An output of a node; node 0: not known.
struct Origin {
  uint32_t node = 0;
  uint32_t slot = 0;
};

// Which node made what a storage holds.
//
// Keyed by storage, since views, detach() and .data all make new tensors of
// one storage; within it by the view's layout, so that a view's consumers point
// at the view and the base's at the base. The storages are held weakly: their
// data goes when it would, but their addresses are not given out again while
// the entry stands.
//
// Not thread safe.
class Producers {
 public:
  // `overwrote`: the op wrote into existing memory, so that what other views
  // of it were made of is gone.
  void Made(c10::StorageImpl* storage, uint64_t view, Origin origin,
            bool overwrote);

  // A parameter or buffer: remembered over steps, whatever is written to it.
  void Keep(c10::StorageImpl* storage, uint64_t view, Origin origin);

  Origin Find(c10::StorageImpl* storage, uint64_t view) const;

  // Forgets all but what Keep was called for.
  void EndStep();

 private:
  static constexpr uint32_t kMaxViews = 64;

  struct View {
    uint64_t signature;
    Origin origin;
  };
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    // First what filled the storage.
    c10::SmallVector<View, 2> views;
    uint32_t replaced = 0;
  };
  using Map = ska::flat_hash_map<c10::StorageImpl*, Entry>;

  static Entry& EntryFor(Map* map, c10::StorageImpl* storage);

  Map made_;
  Map kept_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_PRODUCERS_H_
