#include "agent/conditions/selector.h"

#include <re2/re2.h>

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

uint32_t BitsOf(const std::vector<DType>& dtypes) {
  uint32_t bits = 0;
  for (const DType dtype : dtypes) bits |= 1u << static_cast<uint32_t>(dtype);
  return bits;
}

}  // namespace

PreparedLists::PreparedLists(NodeLists lists)
    : nodes_(std::move(lists.nodes)),
      scopes_(std::move(lists.scopes)),
      categories_(std::move(lists.categories)),
      patterns_(lists.patterns),
      op_types_(std::move(lists.op_types)) {
  std::sort(nodes_.begin(), nodes_.end());
  std::sort(scopes_.begin(), scopes_.end());
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(false);
  for (const std::string& text : lists.regexes) {
    regexes_.push_back(std::make_shared<const RE2>(text, options));
  }
  for (const std::string& text : lists.sources) {
    sources_.push_back(SourceFilter::Parse(text));
  }
}

bool PreparedLists::Names(const NodeDescription& node) const {
  if (std::find(categories_.begin(), categories_.end(), node.category) !=
          categories_.end() ||
      Contains(nodes_, node.name) || InScope(node.name) ||
      patterns_.Matches(node.name)) {
    return true;
  }
  const re2::StringPiece name(node.name.data(), node.name.size());
  return std::any_of(regexes_.begin(), regexes_.end(), [&](const auto& each) {
    return RE2::PartialMatch(name, *each);
  });
}

bool PreparedLists::InScope(absl::string_view name) const {
  if (scopes_.empty()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '/' && i + 1 < name.size() &&
        Contains(scopes_, name.substr(0, i))) {
      return true;
    }
  }
  return false;
}

bool PreparedLists::HasType(const NodeDescription& node) const {
  return std::any_of(op_types_.begin(), op_types_.end(),
                     [&](const std::string& wanted) {
                       return IsOpType(node.op_type, wanted);
                     });
}

bool PreparedLists::HasSource(const NodeDescription& node) const {
  return !node.file.empty() &&
         std::any_of(sources_.begin(), sources_.end(),
                     [&](const SourceFilter& source) {
                       return source.Matches(node.file, node.line);
                     });
}

bool PreparedLists::HasLine(absl::string_view file, uint32_t line) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const SourceFilter& source) {
                       return source.line != 0 && source.Matches(file, line);
                     });
}

bool PreparedLists::has_lines() const {
  return std::any_of(
      sources_.begin(), sources_.end(),
      [](const SourceFilter& source) { return source.line != 0; });
}

NodeMatcher::NodeMatcher(NodeSelection selection, Target target)
    : any_name_(selection.names_nothing()),
      any_op_type_(selection.op_types.empty()),
      any_source_(selection.sources.empty()),
      target_(target) {
  if (!selection.dtypes.empty()) dtypes_ = BitsOf(selection.dtypes);
  dtypes_ &= ~BitsOf(selection.exclude.dtypes);
  // Not of nodes, but of tensors and of processes.
  selection.exclude.dtypes.clear();
  selection.exclude.ranks.clear();
  excludes_ = !selection.exclude.empty();
  everything_ = any_name_ && any_op_type_ && any_source_ && !excludes_;
  exclude_ = PreparedLists(std::move(selection.exclude));
  lists_ = PreparedLists(std::move(selection));
}

bool NodeMatcher::Matches(const NodeDescription& node) const {
  return MatchesBesidesSource(node) && (any_source_ || lists_.HasSource(node));
}

bool NodeMatcher::MatchesCall(const NodeDescription& node,
                              absl::string_view file, uint32_t line) const {
  return follows_calls() && lists_.HasLine(file, line) &&
         MatchesBesidesSource(node);
}

bool NodeMatcher::MatchesBesidesSource(const NodeDescription& node) const {
  if (!target_.Includes(node)) return false;
  if (everything_) return true;
  return (any_name_ || lists_.Names(node)) &&
         (any_op_type_ || lists_.HasType(node)) &&
         !(excludes_ && (exclude_.Names(node) || exclude_.HasType(node) ||
                         exclude_.HasSource(node)));
}

}  // namespace graphdbg::conditions
