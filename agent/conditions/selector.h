// Which nodes a watchpoint is about, known or not yet known.
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

// The union of what is listed; all empty: every node.
struct NodeSelection {
  // Full names.
  std::vector<std::string> nodes;
  // Scopes, without trailing slash; all below them.
  std::vector<std::string> scopes;
  // Shell patterns over full names, see MatchesPattern.
  std::vector<std::string> patterns;
  std::vector<Category> categories;
  // Of what is listed, nodes of this category alone: the condition is about no
  // others.
  std::optional<Category> target;

  bool everything() const {
    return nodes.empty() && scopes.empty() && patterns.empty() &&
           categories.empty();
  }
};

bool Matches(const NodeSelection& selection, absl::string_view name,
             Category category);

// `*` stands for any characters but `/`, `**` for any characters, `?` for one
// character but `/`; everything else for itself. The whole name must match.
// Time grows with the product of the lengths at worst.
bool MatchesPattern(absl::string_view pattern, absl::string_view name);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTOR_H_
