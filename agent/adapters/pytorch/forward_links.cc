#include "agent/adapters/pytorch/forward_links.h"

namespace graphdbg::pytorch {

std::vector<ForwardLinks::Link>& ForwardLinks::RingOf(uint64_t thread) {
  if (last_ring_ == nullptr || last_thread_ != thread) {
    if (rings_.size() >= kMaxThreads && rings_.count(thread) == 0) {
      rings_.clear();
    }
    last_ring_ = &rings_[thread];
    last_thread_ = thread;
    if (last_ring_->empty()) last_ring_->resize(kRingSize);
  }
  return *last_ring_;
}

void ForwardLinks::OpStarted(const ForwardLink& link, uint32_t node) {
  std::vector<Link>& ring = RingOf(link.thread);
  if (link.first < link.next) {
    ring[link.first % kRingSize] = {link.first + 1, node};
  }
  if (link.makes_nodes) ring[link.next % kRingSize] = {link.next + 1, node};
}

uint32_t ForwardLinks::Find(uint64_t thread, uint64_t sequence) const {
  const auto found = rings_.find(thread);
  if (found == rings_.end()) return 0;
  for (uint64_t back = 0; back < kMaxNodesPerOp && back <= sequence; ++back) {
    const uint64_t wanted = sequence - back;
    const Link& link = found->second[wanted % kRingSize];
    if (link.mark == wanted + 1) return link.node;
  }
  return 0;
}

}  // namespace graphdbg::pytorch
