#include "server/mindspore/registry.h"

#include <utility>

#include "server/mindspore/connections.h"

namespace graphdbg::mindspore {

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

Registry::ConversationPtr Registry::ForWait(
    const std::string& peer, const debugger::Metadata& metadata) {
  // Its old connection may have ended unnoticed.
  if (!Of(peer)->identity()) Sweep();
  std::lock_guard lock(mu_);
  ConversationPtr& slot = Slot(peer);
  // A process that was lost has sent its graph already.
  if (slot->identity() || slot->has_graph()) return slot;
  ConversationPtr known = FindLost(IdentityOf(metadata, peer));
  if (known == nullptr) return slot;
  known->MovedTo(peer, slot->TakeHits());
  std::erase_if(by_peer_,
                [&](const auto& entry) { return entry.second == known; });
  by_peer_[peer] = known;
  return known;
}

Registry::ConversationPtr Registry::FindLost(const Identity& identity) const {
  for (const auto& [peer, conversation] : by_peer_) {
    if (conversation->lost() && !conversation->ended() &&
        conversation->identity() == identity) {
      return conversation;
    }
  }
  return nullptr;
}

void Registry::Sweep() {
  std::map<std::string, ConversationPtr> all;
  {
    std::lock_guard lock(mu_);
    all = by_peer_;
  }
  if (all.empty()) return;
  const auto connected = EstablishedConnections();
  for (const auto& [peer, conversation] : all) {
    if (conversation->waits()) continue;
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
}

}  // namespace graphdbg::mindspore
