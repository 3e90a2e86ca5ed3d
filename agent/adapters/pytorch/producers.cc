#include "agent/adapters/pytorch/producers.h"

#include <utility>

namespace graphdbg::pytorch {

Producers::Entry& Producers::EntryFor(Map* map, c10::StorageImpl* storage) {
  const auto found = map->find(storage);
  if (found != map->end()) return found->second;
  Entry entry{c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage),
              {}};
  return map->emplace(storage, std::move(entry)).first->second;
}

void Producers::Made(c10::StorageImpl* storage, uint64_t view, Origin origin,
                     bool overwrote) {
  Entry& entry = EntryFor(&made_, storage);
  if (overwrote) entry.views.clear();
  for (View& known : entry.views) {
    if (known.signature == view) {
      known.origin = origin;
      return;
    }
  }
  if (entry.views.size() < kMaxViews) {
    entry.views.push_back({view, origin});
  } else {
    // A loop over rows, most likely: the newest views matter, and the first,
    // which is what filled the storage.
    entry.views[1 + entry.replaced++ % (kMaxViews - 1)] = {view, origin};
  }
}

void Producers::Keep(c10::StorageImpl* storage, uint64_t view, Origin origin) {
  Entry& entry = EntryFor(&kept_, storage);
  for (const View& known : entry.views) {
    if (known.signature == view) return;
  }
  entry.views.push_back({view, origin});
}

Origin Producers::Find(c10::StorageImpl* storage, uint64_t view) const {
  const auto kept = kept_.find(storage);
  if (kept != kept_.end()) {
    for (const View& known : kept->second.views) {
      if (known.signature == view) return known.origin;
    }
  }
  const auto made = made_.find(storage);
  if (made != made_.end() && !made->second.views.empty()) {
    for (const View& known : made->second.views) {
      if (known.signature == view) return known.origin;
    }
    // A view that was made unseen: it shows what filled the storage.
    if (kept == kept_.end()) return made->second.views.front().origin;
  }
  if (kept != kept_.end()) return kept->second.views.front().origin;
  return {};
}

void Producers::EndStep() {
  // Clearing an empty one takes as long as clearing a full one.
  if (!made_.empty()) made_.clear();
}

}  // namespace graphdbg::pytorch
