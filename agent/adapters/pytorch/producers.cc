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

void Producers::RecordOutput(c10::StorageImpl* storage, uint64_t view,
                             Origin origin, bool overwrote) {
  Entry& entry = EntryFor(&outputs_by_storage_, storage);
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
    // Most likely a loop over rows. Keeps the newest views and the first one,
    // which produced the whole storage.
    entry.views[1 + entry.replaced++ % (kMaxViews - 1)] = {view, origin};
  }
}

void Producers::RecordPersistent(c10::StorageImpl* storage, uint64_t view,
                                 Origin origin) {
  Entry& entry = EntryFor(&persistent_, storage);
  for (const View& known : entry.views) {
    if (known.signature == view) return;
  }
  entry.views.push_back({view, origin});
}

Origin Producers::Find(c10::StorageImpl* storage, uint64_t view) const {
  const auto kept = persistent_.find(storage);
  if (kept != persistent_.end()) {
    for (const View& known : kept->second.views) {
      if (known.signature == view) return known.origin;
    }
  }
  const auto made = outputs_by_storage_.find(storage);
  if (made != outputs_by_storage_.end() && !made->second.views.empty()) {
    for (const View& known : made->second.views) {
      if (known.signature == view) return known.origin;
    }
    // The creation of the view was not traced; use the producer of the storage.
    if (kept == persistent_.end()) return made->second.views.front().origin;
  }
  if (kept != persistent_.end()) return kept->second.views.front().origin;
  return {};
}

void Producers::EndStep() {
  // Clearing an empty map takes as long as clearing a full one.
  if (!outputs_by_storage_.empty()) outputs_by_storage_.clear();
}

}  // namespace graphdbg::pytorch
