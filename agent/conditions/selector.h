// The nodes that a watchpoint covers, whether or not they are known yet.
#ifndef AGENT_CONDITIONS_SELECTOR_H_
#define AGENT_CONDITIONS_SELECTOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

// Numbers as in proto/graphdbg/v1/graph.proto.
enum class Category {
  kOther = 0,
  kWeight = 1,
  kGradient = 2,
  kActivation = 3,
  kOptimizer = 4,
};

// The union of the lists. If all are empty, every node is selected.
struct NodeSelection {
  // Full names.
  std::vector<std::string> nodes;
  // Scopes, without trailing slash, which select all nodes below them.
  std::vector<std::string> scopes;
  // Shell patterns over full names, see MatchesPattern.
  std::vector<std::string> patterns;
  std::vector<Category> categories;
  // If set, restricts the selection to the category that the condition applies
  // to.
  std::optional<Category> target;

  bool everything() const {
    return nodes.empty() && scopes.empty() && patterns.empty() &&
           categories.empty();
  }
};

bool Matches(const NodeSelection& selection, absl::string_view name,
             Category category);

// `*` matches any characters except `/`, `**` any characters, `?` one character
// except `/`, and everything else itself. The whole name must match. Takes at
// most time proportional to the product of the lengths.
bool MatchesPattern(absl::string_view pattern, absl::string_view name);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTOR_H_
