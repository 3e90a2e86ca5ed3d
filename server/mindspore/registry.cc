#include "server/mindspore/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/mindspore/connections.h"

namespace graphdbg::mindspore {
namespace {

// Limits for disconnected clients that may reconnect.
constexpr size_t kMaxDisconnected = 32;
constexpr int64_t kMaxDisconnectedNano = int64_t{86'400} * 1'000'000'000;

uint64_t Distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

Registry::Registry(std::shared_ptr<const ClientConnection::Shared> shared)
    : shared_(std::move(shared)) {
  for (const SavedClient& saved : shared_->files->Load()) {
    // A placeholder, since the address is unknown until the client reconnects.
    by_peer_[absl::StrCat("restored:", saved.incarnation())] =
        std::make_shared<ClientConnection>(shared_, saved);
  }
}

Registry::ConnectionPtr& Registry::Slot(const std::string& peer) {
  ConnectionPtr& slot = by_peer_[peer];
  if (slot == nullptr) slot = std::make_shared<ClientConnection>(shared_, peer);
  return slot;
}

Registry::ConnectionPtr Registry::Get(const std::string& peer) {
  absl::MutexLock lock(&mu_);
  return Slot(peer);
}

Registry::ConnectionPtr Registry::GetForMetadata(const std::string& peer) {
  absl::MutexLock lock(&mu_);
  ConnectionPtr& slot = Slot(peer);
  if (slot->ended()) slot = std::make_shared<ClientConnection>(shared_, peer);
  return slot;
}

Registry::ConnectionPtr Registry::GetOrReconnect(
    const std::string& peer, const debugger::Metadata& metadata) {
  // The end of an earlier network connection may not have been detected yet.
  if (!Get(peer)->identity()) Sweep();
  absl::MutexLock lock(&mu_);
  ConnectionPtr& slot = Slot(peer);
  // A client that reconnects does not send its graph again.
  if (slot->identity() || slot->has_graph()) return slot;
  ConnectionPtr known =
      FindDisconnected(IdentityOf(metadata, peer),
                       static_cast<uint64_t>(std::max(metadata.cur_step(), 0)));
  if (known == nullptr) return slot;
  known->MoveTo(peer, slot->TakeHits());
  std::erase_if(by_peer_,
                [&](const auto& entry) { return entry.second == known; });
  by_peer_[peer] = known;
  return known;
}

Registry::ConnectionPtr Registry::FindDisconnected(const Identity& identity,
                                                   uint64_t step) const {
  ConnectionPtr nearest;
  for (const auto& [peer, connection] : by_peer_) {
    if (!connection->disconnected() || connection->ended()) continue;
    if (connection->identity() != identity) continue;
    if (nearest == nullptr ||
        Distance(connection->step(), step) < Distance(nearest->step(), step)) {
      nearest = connection;
    }
  }
  return nearest;
}

std::vector<std::pair<int64_t, std::string>> Registry::Disconnected() const {
  std::vector<std::pair<int64_t, std::string>> disconnected;
  for (const auto& [peer, connection] : by_peer_) {
    if (connection->disconnected()) {
      disconnected.emplace_back(connection->disconnected_since(), peer);
    }
  }
  std::sort(disconnected.begin(), disconnected.end());
  return disconnected;
}

void Registry::Discard(const std::string& peer) {
  const auto it = by_peer_.find(peer);
  it->second->Discard();
  by_peer_.erase(it);
}

void Registry::RemoveExpired() {
  absl::MutexLock lock(&mu_);
  const auto disconnected = Disconnected();
  const int64_t too_old = shared_->now_unix_nano() - kMaxDisconnectedNano;
  for (size_t i = 0; i < disconnected.size(); ++i) {
    if (disconnected.size() - i <= kMaxDisconnected &&
        disconnected[i].first > too_old) {
      break;
    }
    Discard(disconnected[i].second);
  }
}

void Registry::DiscardOldest() {
  absl::MutexLock lock(&mu_);
  const auto disconnected = Disconnected();
  if (!disconnected.empty()) Discard(disconnected.front().second);
}

void Registry::Sweep() {
  std::map<std::string, ConnectionPtr> all;
  {
    absl::MutexLock lock(&mu_);
    all = by_peer_;
  }
  if (all.empty()) return;
  // Read after copying the map, so that it contains every client of the copy
  // that is still connected.
  const auto connected = EstablishedConnections();
  for (const auto& [peer, connection] : all) {
    connection->RefreshWait();
    // The client may have reconnected in the meantime.
    if (connection->waiting() || connection->peer() != peer) continue;
    const bool gone = connected && connected->count(AddressOf(peer)) == 0;
    if (!gone && !connection->silent()) continue;
    if (!connection->disconnected()) connection->OnDisconnect();
    // No later call can belong to such a client.
    if (gone && (connection->ended() || !connection->identity())) {
      absl::MutexLock lock(&mu_);
      auto it = by_peer_.find(peer);
      if (it != by_peer_.end() && it->second == connection) {
        Discard(it->first);
      }
    }
  }
  RemoveExpired();
}

}  // namespace graphdbg::mindspore
