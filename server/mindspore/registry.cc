#include "server/mindspore/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/mindspore/connections.h"

namespace graphdbg::mindspore {
namespace {

// Clients that were lost, and are waited for: so many, so long.
constexpr size_t kMaxLost = 32;
constexpr int64_t kMaxLostNano = int64_t{86'400} * 1'000'000'000;

uint64_t Distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

Registry::Registry(std::shared_ptr<const Conversation::Shared> shared)
    : shared_(std::move(shared)) {
  for (const SavedClient& saved : shared_->files->Load()) {
    // No address is so; it gets its own when it comes back.
    by_peer_[absl::StrCat("restored:", saved.incarnation())] =
        std::make_shared<Conversation>(shared_, saved);
  }
}

Registry::ConversationPtr& Registry::Slot(const std::string& peer) {
  ConversationPtr& slot = by_peer_[peer];
  if (slot == nullptr) slot = std::make_shared<Conversation>(shared_, peer);
  return slot;
}

Registry::ConversationPtr Registry::Of(const std::string& peer) {
  std::lock_guard lock(mu_);
  return Slot(peer);
}

Registry::ConversationPtr Registry::ForMetadata(const std::string& peer) {
  std::lock_guard lock(mu_);
  ConversationPtr& slot = Slot(peer);
  if (slot->ended()) slot = std::make_shared<Conversation>(shared_, peer);
  return slot;
}

Registry::ConversationPtr Registry::ForKnown(
    const std::string& peer, const debugger::Metadata& metadata) {
  // Its old connection may have ended unnoticed.
  if (!Of(peer)->identity()) Sweep();
  std::lock_guard lock(mu_);
  ConversationPtr& slot = Slot(peer);
  // A process that was lost has sent its graph already.
  if (slot->identity() || slot->has_graph()) return slot;
  ConversationPtr known =
      FindLost(IdentityOf(metadata, peer),
               static_cast<uint64_t>(std::max(metadata.cur_step(), 0)));
  if (known == nullptr) return slot;
  known->MovedTo(peer, slot->TakeHits());
  std::erase_if(by_peer_,
                [&](const auto& entry) { return entry.second == known; });
  by_peer_[peer] = known;
  return known;
}

Registry::ConversationPtr Registry::FindLost(const Identity& identity,
                                             uint64_t step) const {
  ConversationPtr nearest;
  for (const auto& [peer, conversation] : by_peer_) {
    if (!conversation->lost() || conversation->ended()) continue;
    if (conversation->identity() != identity) continue;
    if (nearest == nullptr || Distance(conversation->step(), step) <
                                  Distance(nearest->step(), step)) {
      nearest = conversation;
    }
  }
  return nearest;
}

void Registry::ForgetLongLost() {
  std::lock_guard lock(mu_);
  std::vector<std::pair<int64_t, std::string>> lost;
  for (const auto& [peer, conversation] : by_peer_) {
    if (conversation->lost())
      lost.emplace_back(conversation->lost_since(), peer);
  }
  std::sort(lost.begin(), lost.end());
  const int64_t too_old = shared_->now_unix_nano() - kMaxLostNano;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (lost.size() - i <= kMaxLost && lost[i].first > too_old) break;
    auto it = by_peer_.find(lost[i].second);
    it->second->Forget();
    by_peer_.erase(it);
  }
}

void Registry::Sweep() {
  std::map<std::string, ConversationPtr> all;
  {
    std::lock_guard lock(mu_);
    all = by_peer_;
  }
  if (all.empty()) return;
  // After that, so that it has all of them that are still connected.
  const auto connected = EstablishedConnections();
  for (const auto& [peer, conversation] : all) {
    // It may have come back in the meantime.
    if (conversation->waits() || conversation->peer() != peer) continue;
    const bool gone = connected && connected->count(AddressOf(peer)) == 0;
    if (!gone && !conversation->silent()) continue;
    if (!conversation->lost()) conversation->Lost();
    // Nobody will ask for these again.
    if (gone && (conversation->ended() || !conversation->identity())) {
      std::lock_guard lock(mu_);
      auto it = by_peer_.find(peer);
      if (it != by_peer_.end() && it->second == conversation) {
        by_peer_.erase(it);
      }
    }
  }
  ForgetLongLost();
}

}  // namespace graphdbg::mindspore
