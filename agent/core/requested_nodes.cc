#include "agent/core/requested_nodes.h"

namespace graphdbg::agent {

void RequestedNodes::Add(uint32_t node, uint64_t pause) {
  NodeFacts* facts = nodes_->Facts(node);
  if (facts == nullptr || !facts->has(kAnyNode)) return;
  MutexLock lock(&mu_);
  if (requests_.size() >= kMaxRequests && requests_.count(node) == 0) return;
  requests_[node].requested_at = pause;
  facts->Set(kRequested, true);
}

void RequestedNodes::Catch(uint32_t node, uint64_t pause) {
  Add(node, pause);
  MutexLock lock(&mu_);
  const auto it = requests_.find(node);
  if (it != requests_.end()) it->second.catch_since = pause;
}

void RequestedNodes::Resume(uint64_t pause,
                            const std::function<bool(uint32_t)>& is_available) {
  MutexLock lock(&mu_);
  for (auto it = requests_.begin(); it != requests_.end();) {
    const auto at = it++;
    Request& request = at->second;
    if (request.catch_since && *request.catch_since < pause &&
        is_available(at->first)) {
      request.catch_since.reset();
    }
    if (request.requested_at >= pause || request.catch_since) continue;
    nodes_->Facts(at->first)->Set(kRequested, false);
    requests_.erase(at);
  }
}

std::set<uint32_t> RequestedNodes::to_catch() const {
  MutexLock lock(&mu_);
  std::set<uint32_t> nodes;
  for (const auto& [node, request] : requests_) {
    if (request.catch_since) nodes.insert(node);
  }
  return nodes;
}

}  // namespace graphdbg::agent
