#include "agent/conditions/selector.h"

#include <algorithm>
#include <utility>

namespace graphdbg::conditions {
namespace {

// `sorted` as std::binary_search needs it, searched without a copy of `name`.
bool Contains(const std::vector<std::string>& sorted, absl::string_view name) {
  return std::binary_search(
      sorted.begin(), sorted.end(), name,
      [](absl::string_view a, absl::string_view b) { return a < b; });
}

}  // namespace

NodeMatcher::NodeMatcher(NodeSelection selection)
    : everything_(selection.everything()),
      target_(selection.target),
      nodes_(std::move(selection.nodes)),
      scopes_(std::move(selection.scopes)),
      categories_(std::move(selection.categories)),
      patterns_(selection.patterns) {
  std::sort(nodes_.begin(), nodes_.end());
  std::sort(scopes_.begin(), scopes_.end());
}

bool NodeMatcher::Matches(absl::string_view name, Category category) const {
  if (target_ && *target_ != category) return false;
  if (everything_) return true;
  return std::find(categories_.begin(), categories_.end(), category) !=
             categories_.end() ||
         Contains(nodes_, name) || InListedScope(name) ||
         patterns_.Matches(name);
}

bool NodeMatcher::InListedScope(absl::string_view name) const {
  if (scopes_.empty()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '/' && i + 1 < name.size() &&
        Contains(scopes_, name.substr(0, i))) {
      return true;
    }
  }
  return false;
}

size_t PatternBytes(const NodeSelection& selection) {
  size_t bytes = 0;
  for (const std::string& pattern : selection.patterns) bytes += pattern.size();
  return bytes;
}

}  // namespace graphdbg::conditions
