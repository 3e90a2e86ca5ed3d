// What a watchpoint covers of a graph.
#ifndef SERVER_WATCH_COVERAGE_H_
#define SERVER_WATCH_COVERAGE_H_

#include "agent/conditions/selector.h"
#include "server/graph/graph_store.h"
#include "server/model/watch.h"

namespace graphdbg::watch {

// Refers to what the graph holds.
conditions::NodeDescription Describe(const graph::GraphStore& graph,
                                     graph::NodeIndex node);

// The condition of the spec must be known.
conditions::NodeMatcher MatcherOf(const model::WatchpointSpec& spec);

// Whether the node is selected, and tensors of it may be: it has an output of a
// selected type, or none that is known.
bool Covers(const conditions::NodeMatcher& matcher,
            const graph::GraphStore& graph, graph::NodeIndex node);

// Counts what the watchpoint would cover, and estimates its cost. Nodes that
// are not of the graph are passed over. `on_accelerator`: the tensors are not
// in the memory of the CPU.
model::SelectionPreview PreviewOf(const model::WatchpointSpec& spec,
                                  const graph::GraphStore& graph,
                                  bool on_accelerator);

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_COVERAGE_H_
