// Facts about nodes and scopes that views show and other rooms know.
#ifndef SERVER_GRAPH_ANNOTATIONS_H_
#define SERVER_GRAPH_ANNOTATIONS_H_

#include <cstdint>

#include "server/graph/graph_store.h"
#include "server/model/graph.h"

namespace graphdbg::graph {

class Annotations {
 public:
  virtual ~Annotations() = default;

  virtual uint64_t HitsOf(Child child) const = 0;
  virtual model::Watched WatchedOf(Child child) const = 0;
  // Whether this watchpoint covers the node.
  virtual bool Covers(uint32_t watchpoint, NodeIndex node) const = 0;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_ANNOTATIONS_H_
