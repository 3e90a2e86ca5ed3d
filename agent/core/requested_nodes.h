// Nodes whose values users inspect or requested.
#ifndef AGENT_CORE_REQUESTED_NODES_H_
#define AGENT_CORE_REQUESTED_NODES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "agent/base/mutex.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// Maintains the nodes' kRequested flags: outputs of flagged nodes are kept even
// where others are not. A request lasts until the end of the next pause, when
// users see the value and request it again if they still want it. Any thread.
class RequestedNodes {
 public:
  // `nodes` must outlive this.
  explicit RequestedNodes(const NodeTable* nodes) : nodes_(nodes) {}

  // A user inspected the node during or after the pause with this number.
  void Add(uint32_t node, uint64_t pause) GRAPHDBG_EXCLUDES(mu_);
  // The same, but the request lasts until the value was available at a pause:
  // the agent has to follow ops for it.
  void Catch(uint32_t node, uint64_t pause) GRAPHDBG_EXCLUDES(mu_);

  // The program resumes after this pause. `is_available` returns whether the
  // value of a node was kept at it.
  void Resume(uint64_t pause, const std::function<bool(uint32_t)>& is_available)
      GRAPHDBG_EXCLUDES(mu_);

  // Nodes whose values are still to be caught.
  std::set<uint32_t> to_catch() const GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Request {
    uint64_t requested_at = 0;
    // The pause since which the value is to be caught; absent if it is not, or
    // was caught already.
    std::optional<uint64_t> catch_since;
  };

  // More than any user inspects. Further requests are ignored.
  static constexpr size_t kMaxRequests = 10'000;

  const NodeTable* const nodes_;
  mutable Mutex mu_;
  // By node.
  std::map<uint32_t, Request> requests_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_REQUESTED_NODES_H_
