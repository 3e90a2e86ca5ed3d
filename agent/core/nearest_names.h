// Names that resemble one that was not found.
#ifndef AGENT_CORE_NEAREST_NAMES_H_
#define AGENT_CORE_NEAREST_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// Up to `count` nodes whose names have the longest parts in common with `text`,
// which may be a regular expression, best first. Looks at each node once; not
// for training threads in the midst of a step.
std::vector<std::string> NearestNames(const NodeTable& nodes,
                                      absl::string_view text, size_t count);
// The same for types of ops.
std::vector<std::string> NearestOpTypes(const NodeTable& nodes,
                                        absl::string_view text, size_t count);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NEAREST_NAMES_H_
