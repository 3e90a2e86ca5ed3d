// Nodes whose values people look at, or want to.
#ifndef AGENT_CORE_REQUESTED_NODES_H_
#define AGENT_CORE_REQUESTED_NODES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "agent/core/node_table.h"

namespace graphdbg::agent {

// Keeps the nodes' kRequested flags: their outputs are kept, also where others'
// are not. A request holds until the end of the next stop, which is when people
// see the value and ask again if they still want it. Any thread.
class RequestedNodes {
 public:
  // `nodes` must outlive this.
  explicit RequestedNodes(const NodeTable* nodes) : nodes_(nodes) {}

  // Somebody looked at the node at or after the pause of this number.
  void Ask(uint32_t node, uint64_t pause);
  // The same, and the request holds until the value was there at a stop: the
  // agent has to follow ops for its sake.
  void Catch(uint32_t node, uint64_t pause);

  // The program goes on after this pause; `is_there` tells whether a node's
  // value was.
  void Resume(uint64_t pause, const std::function<bool(uint32_t)>& is_there);

  // Those that are to be caught.
  std::set<uint32_t> to_catch() const;

 private:
  struct Request {
    uint64_t asked_at = 0;
    // Absent: not to be caught, or it was.
    std::optional<uint64_t> catch_since;
  };

  // More than anybody looks at; further requests are not noted.
  static constexpr size_t kMaxRequests = 10'000;

  const NodeTable* const nodes_;
  mutable std::mutex mu_;
  // By node; guarded by mu_.
  std::map<uint32_t, Request> requests_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_REQUESTED_NODES_H_
