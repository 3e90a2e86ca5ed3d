#include "agent/adapters/pytorch/forward_links.h"

namespace graphdbg::pytorch {

void ForwardLinks::OpStarted(uint64_t thread, int64_t sequence, uint32_t node) {
  if (last_ring_ == nullptr || last_thread_ != thread) {
    if (rings_.size() >= kMaxThreads && rings_.count(thread) == 0) {
      rings_.clear();
    }
    last_ring_ = &rings_[thread];
    last_thread_ = thread;
    if (last_ring_->empty()) last_ring_->resize(kRingSize);
  }
  (*last_ring_)[static_cast<uint64_t>(sequence) % kRingSize] = {sequence, node};
}

uint32_t ForwardLinks::Find(uint64_t thread, uint64_t sequence) const {
  const auto found = rings_.find(thread);
  if (found == rings_.end()) return 0;
  for (uint64_t back = 0; back < kMaxNodesPerOp && back <= sequence; ++back) {
    const uint64_t wanted = sequence - back;
    const Link& link = found->second[wanted % kRingSize];
    if (link.sequence == static_cast<int64_t>(wanted)) return link.node;
  }
  return 0;
}

}  // namespace graphdbg::pytorch
