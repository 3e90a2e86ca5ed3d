// Where a function of the program stands.
#ifndef AGENT_CORE_CALL_SITE_H_
#define AGENT_CORE_CALL_SITE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// A line of a function that is being executed, with the calls that led there.
// Ops that the line executes, in whatever function or module it calls, have a
// stack that contains it.
class CallSite {
 public:
  enum class Relation {
    // The line executes it.
    kSameLine,
    // The function is on another line, or has been left.
    kOtherLine,
    // Nothing is known: there is no stack, or it is another thread's.
    kUnrelated,
  };

  // The function is that of the module `scope`, or else the function of the
  // user's, but of no other module, that it has called. The innermost function
  // of the user's if the module is not being called.
  CallSite(const NodeTable& nodes, uint32_t node, absl::string_view scope);

  // The function is that of a frame of the node's stack, which has so many.
  CallSite(const NodeTable& nodes, uint32_t node, size_t frame);

  // How an op relates to the line. Of a loop over a list of modules each round
  // counts as another line.
  Relation RelationOf(uint32_t node) const;

 private:
  // The line in a frame of a stack. `inner`: the number of the scopes that
  // contain the function.
  void Enter(const std::vector<NodeTable::StackFrame>& stack, size_t frame,
             const std::vector<NodeTable::Scope>& scopes, size_t inner);
  bool IsNextRound(absl::string_view name) const;

  // The table outlives this.
  const NodeTable* nodes_;
  // The function's frame and those around it, innermost first; empty if there
  // is none.
  std::vector<NodeTable::StackFrame> frames_;
  // Frames further out may be missing.
  bool incomplete_ = false;
  // The module; its function has been left when an op outside of it runs.
  std::string scope_;
  // The list of modules of which the line calls a member, and that member's
  // scope; empty if there is none.
  std::string list_;
  std::string member_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CALL_SITE_H_
