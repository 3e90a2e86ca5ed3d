#include "server/http/places.h"

#include <utility>

namespace graphdbg::http {

Places::Place::~Place() {
  absl::MutexLock lock(&places_->mu_);
  places_->entries_.erase(entry_);
}

bool Places::Place::SetIdle(bool idle) {
  absl::MutexLock lock(&places_->mu_);
  entry_->idle = idle;
  if (idle) entry_->idle_since = ++places_->clock_;
  return !entry_->leaving;
}

void Places::Place::MarkAuthenticated() {
  absl::MutexLock lock(&places_->mu_);
  entry_->authenticated = true;
}

std::unique_ptr<Places::Place> Places::Take(const std::string& address,
                                            std::function<void()> close) {
  // Called without the lock: it may destroy connections.
  std::function<void()> make_room;
  std::unique_ptr<Place> place;
  {
    absl::MutexLock lock(&mu_);
    uint32_t all = 0;
    uint32_t strangers = 0;
    uint32_t neighbours = 0;
    for (const Place::Entry& entry : entries_) {
      if (entry.leaving) continue;
      ++all;
      if (entry.authenticated) continue;
      ++strangers;
      if (entry.address == address) ++neighbours;
    }
    if (neighbours >= limits_.per_address) {
      make_room = Evict([&](const Place::Entry& entry) {
        return !entry.authenticated && entry.address == address;
      });
      if (!make_room) return nullptr;
    } else if (all >= limits_.all) {
      make_room = Evict([](const Place::Entry&) { return true; });
      if (!make_room) return nullptr;
    } else if (strangers + limits_.reserved >= limits_.all) {
      make_room =
          Evict([](const Place::Entry& entry) { return !entry.authenticated; });
      if (!make_room) return nullptr;
    }
    entries_.push_back({.address = address,
                        .close = std::move(close),
                        .idle_since = ++clock_});
    place.reset(new Place(shared_from_this(), std::prev(entries_.end())));
  }
  if (make_room) make_room();
  return place;
}

void Places::CloseOne() {
  std::function<void()> make_room;
  {
    absl::MutexLock lock(&mu_);
    make_room = Evict([](const Place::Entry&) { return true; });
  }
  if (make_room) make_room();
}

Places::Entries::iterator Places::FindIdle(const Filter& filter) {
  // Strangers first, then the one that has been idle longest.
  const auto order = [](const Place::Entry& entry) {
    return std::pair(entry.authenticated, entry.idle_since);
  };
  auto found = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->idle || entry->leaving || !filter(*entry)) continue;
    if (found == entries_.end() || order(*entry) < order(*found)) found = entry;
  }
  return found;
}

std::function<void()> Places::Evict(const Filter& filter) {
  const auto found = FindIdle(filter);
  if (found == entries_.end()) return nullptr;
  found->leaving = true;
  return found->close;
}

}  // namespace graphdbg::http
