// Decides which nodes a watchpoint's selection contains.
#ifndef AGENT_CONDITIONS_SELECTOR_H_
#define AGENT_CONDITIONS_SELECTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/conditions/pattern_set.h"
#include "agent/conditions/selection.h"
#include "agent/conditions/source_filter.h"
#include "agent/tensor/dtype.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace graphdbg::conditions {

// The facts about a node that selections test.
struct NodeDescription {
  absl::string_view name;
  Category category = Category::kOther;
  absl::string_view op_type = {};
  // The user's line that made it, for a backward op its forward op. Without a
  // file if there is none.
  absl::string_view file = {};
  uint32_t line = 0;
  bool is_op = true;
};

// The nodes that a condition applies to.
struct Target {
  // Absent: nodes of all categories.
  std::optional<Category> category = std::nullopt;
  // Only ops, not parameters and other tensors.
  bool ops_only = false;

  bool everything() const { return !category && !ops_only; }
  bool Includes(const NodeDescription& node) const {
    return (!category || *category == node.category) &&
           (!ops_only || node.is_op);
  }
};

// The lists of a selection, prepared for matching.
class PreparedLists {
 public:
  PreparedLists() = default;
  // Regular expressions that are invalid match nothing.
  explicit PreparedLists(NodeLists lists);

  // Whether a name, scope, pattern, regular expression or category selects it.
  bool Names(const NodeDescription& node) const;
  bool HasType(const NodeDescription& node) const;
  bool HasSource(const NodeDescription& node) const;
  // Whether a line selects it, rather than a whole file.
  bool HasLine(absl::string_view file, uint32_t line) const;
  bool has_lines() const;

 private:
  bool InScope(absl::string_view name) const;

  // Sorted.
  std::vector<std::string> nodes_;
  std::vector<std::string> scopes_;
  std::vector<Category> categories_;
  PatternSet patterns_;
  std::vector<std::shared_ptr<const re2::RE2>> regexes_;
  std::vector<std::string> op_types_;
  std::vector<SourceFilter> sources_;
};

// The time to match a node depends on the length of its name and the total
// length of the patterns, not on the number of listed nodes and scopes.
class NodeMatcher {
 public:
  // Selects every node.
  NodeMatcher() = default;
  // Selects only nodes of the target.
  explicit NodeMatcher(NodeSelection selection, Target target = {});

  bool Matches(const NodeDescription& node) const;
  // A selection of lines to stop at also contains what these call.
  bool follows_calls() const { return target_.ops_only && lists_.has_lines(); }
  // Whether an op that this line has called, directly or not, is selected.
  bool MatchesCall(const NodeDescription& node, absl::string_view file,
                   uint32_t line) const;
  // Whether tensors of this type are selected, if their node is.
  bool MatchesType(DType dtype) const {
    return ((dtypes_ >> static_cast<uint32_t>(dtype)) & 1) != 0;
  }

  bool selects_everything() const {
    return everything_ && target_.everything();
  }
  // Tensors of all types are selected.
  bool selects_all_types() const { return dtypes_ == kAllTypes; }

 private:
  static constexpr uint32_t kAllTypes = UINT32_MAX;

  bool MatchesBesidesSource(const NodeDescription& node) const;

  bool everything_ = true;
  bool any_name_ = true;
  bool any_op_type_ = true;
  bool any_source_ = true;
  bool excludes_ = false;
  // One bit for each type.
  uint32_t dtypes_ = kAllTypes;
  Target target_;
  PreparedLists lists_;
  PreparedLists exclude_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTOR_H_
