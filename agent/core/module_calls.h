// Which frames of a source stack are the calls of which modules.
#ifndef AGENT_CORE_MODULE_CALLS_H_
#define AGENT_CORE_MODULE_CALLS_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "agent/core/node_table.h"

namespace graphdbg::agent {

constexpr size_t kNotCalled = std::numeric_limits<size_t>::max();

// Whether a scope is a list of modules, which has no function of its own:
// programs call its members.
bool IsModuleList(const NodeTable::Scope& scope);

// For each scope of a node, outermost first, the position of the frame in the
// node's stack, innermost first, that is the call of the scope's `forward`;
// kNotCalled if there is none.
//
// Both are in the same order, but either may have members that the other lacks:
// lists of modules are not called, nor is a model of which the program calls
// parts, and wrappers such as DistributedDataParallel are no scopes. Names of
// classes decide where they are known.
std::vector<size_t> CallsOf(const std::vector<NodeTable::Scope>& scopes,
                            const std::vector<NodeTable::StackFrame>& stack);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_MODULE_CALLS_H_
