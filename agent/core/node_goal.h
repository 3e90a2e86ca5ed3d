// Which node a NextNode command runs to.
#ifndef AGENT_CORE_NODE_GOAL_H_
#define AGENT_CORE_NODE_GOAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/core/call_site.h"
#include "agent/core/node_table.h"
#include "proto/graphdbg/v1/control.pb.h"

namespace graphdbg::agent {

// Decides at each node, because control flow may differ from the step before.
class NodeGoal {
 public:
  // The next node, whichever it is.
  NodeGoal() = default;
  // The program stands at the node `from`; 0: between two steps. `nodes` must
  // outlive this.
  NodeGoal(const v1::Command::NextNode& command, uint32_t from,
           const NodeTable& nodes);

  // Whether it passes over some nodes, and so runs to the end of the step if
  // it passes over all that are left.
  bool passes_over() const { return nodes_ != nullptr; }
  // `node` exists, if passes_over.
  bool Includes(uint32_t node) const;

 private:
  bool IsPassedScope(absl::string_view scope) const;
  bool HasLineToLeave(const NodeTable::Info& info) const;

  // Null if every node is the goal.
  const NodeTable* nodes_ = nullptr;
  std::optional<std::string> within_;
  std::optional<std::string> outside_;
  // The source line to leave; line 0: none. The table owns the file's name.
  absl::string_view file_;
  uint32_t line_ = 0;
  // With `within_`: the line of that module's function, if forward ops are
  // executed there. Ops of the forward pass are then the goal if another line
  // executes them, whichever modules it calls.
  std::optional<CallSite> site_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NODE_GOAL_H_
