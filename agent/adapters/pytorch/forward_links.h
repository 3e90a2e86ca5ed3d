#ifndef AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
#define AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace graphdbg::pytorch {

// The sequence numbers of the autograd nodes that belong to an op.
struct ForwardLink {
  uint64_t thread = 0;
  // Numbers in [first, next) were assigned before the op began.
  uint64_t first = 0;
  uint64_t next = 0;
  // The op itself may create nodes, starting with number `next`.
  bool makes_nodes = false;
};

// Maps nodes of the autograd graph to the ops that created them.
//
// Autograd numbers its nodes per thread, and PyTorch exposes the number of the
// next node when an op starts. Therefore, the op that created a node is the
// last one that started on the same thread with the node's number or, if that
// op created several nodes, with the nearest lower number.
//
// Not thread-safe.
class ForwardLinks {
 public:
  // Called when an op starts.
  void OpStarted(const ForwardLink& link, uint32_t node);
  // The graph node of the op; 0 if it was not traced or is too old.
  uint32_t Find(uint64_t thread, uint64_t sequence) const;

 private:
  // Maximum number of autograd nodes per op.
  static constexpr uint64_t kMaxNodesPerOp = 64;

  struct Link {
    // The sequence number plus one; 0 marks an empty slot.
    uint64_t mark = 0;
    uint32_t node = 0;
  };
  // A ring buffer, indexed by the low bits of the sequence number.
  static constexpr uint64_t kRingSize = 1 << 17;
  // Bounds memory in programs that keep starting new threads.
  static constexpr size_t kMaxThreads = 16;

  std::vector<Link>& RingOf(uint64_t thread);

  std::unordered_map<uint64_t, std::vector<Link>> rings_;
  // The most recently used ring.
  uint64_t last_thread_ = 0;
  std::vector<Link>* last_ring_ = nullptr;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
