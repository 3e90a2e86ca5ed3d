// When a line of source code begins to run, as seen from the ops it executes.
#ifndef AGENT_CORE_LINE_RUNS_H_
#define AGENT_CORE_LINE_RUNS_H_

#include <cstdint>
#include <optional>

#include "agent/base/mutex.h"
#include "agent/conditions/selector.h"
#include "agent/core/call_site.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// A line such as `y = torch.relu(self.block(x.flatten(1)))` executes several
// ops, in `forward` and in `forward/block`, but a debugger stops at it once.
// Ops that the line executes directly after each other, in whatever function or
// module it calls, are one run of it. A line in a loop over a list of modules
// runs once for each. Any thread.
class LineRuns {
 public:
  // For the lines in a selection. `nodes` and `lines` must outlive this.
  LineRuns(const NodeTable& nodes, const conditions::NodeMatcher& lines)
      : nodes_(nodes), lines_(lines) {}

  // Whether one of the lines executes the node.
  bool Executes(uint32_t node) const { return FrameOf(node).has_value(); }

  // One of the lines has executed the node, as the execution with this order in
  // the step. `inputs_before`: so many positions directly before are those of
  // inputs, as of a model that the line calls. Returns whether a run of the
  // line begins.
  bool Begins(uint64_t step, uint64_t order, uint32_t inputs_before,
              uint32_t node) GRAPHDBG_EXCLUDES(mu_);

 private:
  // The frame of the innermost line in the node's stack.
  std::optional<size_t> FrameOf(uint32_t node) const;

  const NodeTable& nodes_;
  const conditions::NodeMatcher& lines_;

  Mutex mu_;
  uint64_t step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint64_t order_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The run's first node.
  uint32_t first_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::optional<CallSite> site_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LINE_RUNS_H_
