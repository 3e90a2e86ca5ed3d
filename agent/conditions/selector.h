// The nodes that a watchpoint covers, whether or not they are known yet.
#ifndef AGENT_CONDITIONS_SELECTOR_H_
#define AGENT_CONDITIONS_SELECTOR_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/conditions/pattern_set.h"

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
  // Shell patterns over full names, see PatternSet.
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

// Decides whether a selection contains a node. The time depends on the length
// of the name and the total length of the patterns, not on the number of listed
// nodes and scopes.
class NodeMatcher {
 public:
  // Selects every node.
  NodeMatcher() = default;
  explicit NodeMatcher(NodeSelection selection);

  bool Matches(absl::string_view name, Category category) const;

  bool selects_everything() const { return everything_; }
  // Absent if nodes of all categories may be selected.
  const std::optional<Category>& target() const { return target_; }
  const PatternSet& patterns() const { return patterns_; }

 private:
  bool InListedScope(absl::string_view name) const;

  bool everything_ = true;
  std::optional<Category> target_;
  // Sorted.
  std::vector<std::string> nodes_;
  std::vector<std::string> scopes_;
  std::vector<Category> categories_;
  PatternSet patterns_;
};

size_t PatternBytes(const NodeSelection& selection);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTOR_H_
