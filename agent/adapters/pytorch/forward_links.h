#ifndef AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
#define AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace graphdbg::pytorch {

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
  // An op starts on `thread` when `sequence` is next.
  void OpStarted(uint64_t thread, int64_t sequence, uint32_t node);
  // The graph node of the op; 0 if it was not seen or was too long ago.
  uint32_t Find(uint64_t thread, uint64_t sequence) const;

 private:
  // How far back an op may have made more than one autograd node.
  static constexpr uint64_t kMaxNodesPerOp = 64;

  struct Link {
    int64_t sequence = -1;
    uint32_t node = 0;
  };
  // A ring: the slot of a sequence number is its low bits.
  static constexpr uint64_t kRingSize = 1 << 17;
  // Programs that start ever new threads do not fill the memory with rings.
  static constexpr size_t kMaxThreads = 16;

  std::unordered_map<uint64_t, std::vector<Link>> rings_;
  // The ring of the thread that asked last.
  uint64_t last_thread_ = 0;
  std::vector<Link>* last_ring_ = nullptr;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_FORWARD_LINKS_H_
