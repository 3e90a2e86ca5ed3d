#include "agent/adapters/pytorch/producers.h"

#include <utility>

namespace graphdbg::pytorch {

void Producers::SortOutputs() {
  for (const Output& output : outputs_) Sort(output);
  outputs_.clear();
}

void Producers::Sort(const Output& output) {
  Entry& entry = outputs_by_storage_[output.storage];
  if (output.overwrote) entry.views.clear();
  for (View& known : entry.views) {
    if (known.signature == output.view) {
      known.origin = output.origin;
      return;
    }
  }
  const View view = {output.view, output.origin};
  if (entry.views.size() < kMaxViews) {
    entry.views.push_back(view);
  } else {
    // Most likely a loop over rows. Keeps the newest views and the first one,
    // which produced the whole storage.
    entry.views[1 + entry.replaced++ % (kMaxViews - 1)] = view;
  }
}

void Producers::RecordPersistent(c10::StorageImpl* storage, uint64_t view,
                                 Origin origin) {
  using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;
  auto found = persistent_.find(storage);
  if (found == persistent_.end()) {
    Persistent persistent{Weak::reclaim_copy(storage), {}};
    found = persistent_.emplace(storage, std::move(persistent)).first;
  }
  for (const View& known : found->second.views) {
    if (known.signature == view) return;
  }
  found->second.views.push_back({view, origin});
}

Origin Producers::Find(const c10::StorageImpl* storage, uint64_t view) {
  SortOutputs();
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
  outputs_.clear();
  // Clearing an empty map takes as long as clearing a full one.
  if (!outputs_by_storage_.empty()) outputs_by_storage_.clear();
}

}  // namespace graphdbg::pytorch
