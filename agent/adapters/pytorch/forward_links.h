#ifndef AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
#define AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace graphdbg::pytorch {

// The autograd nodes that an op stands for, as PyTorch numbers them.
struct ForwardLink {
  uint64_t thread = 0;
  // Numbers from `first` to before `next` were given out before the op began.
  uint64_t first = 0;
  uint64_t next = 0;
  // The op may make nodes itself, from number `next` on.
  bool makes_nodes = false;
};

// From a node of the autograd graph to the op that made it.
//
// Autograd numbers its nodes per thread, and PyTorch tells the number that the
// next node would get when an op starts. So a node was made by the last op that
// started on its thread with that number, or, if that op made several, with the
// nearest lower one.
//
// Not thread safe.
class ForwardLinks {
 public:
  // An op starts.
  void OpStarted(const ForwardLink& link, uint32_t node);
  // The graph node of the op; 0 if it was not seen or was too long ago.
  uint32_t Find(uint64_t thread, uint64_t sequence) const;

 private:
  // How far back an op may have made more than one autograd node.
  static constexpr uint64_t kMaxNodesPerOp = 64;

  struct Link {
    // One more than the number, so that nothing is 0.
    uint64_t mark = 0;
    uint32_t node = 0;
  };
  // A ring: the slot of a sequence number is its low bits.
  static constexpr uint64_t kRingSize = 1 << 17;
  // Programs that start ever new threads do not fill the memory with rings.
  static constexpr size_t kMaxThreads = 16;

  std::vector<Link>& RingOf(uint64_t thread);

  std::unordered_map<uint64_t, std::vector<Link>> rings_;
  // The ring of the thread that asked last.
  uint64_t last_thread_ = 0;
  std::vector<Link>* last_ring_ = nullptr;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
