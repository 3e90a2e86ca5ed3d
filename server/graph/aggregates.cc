#include "server/graph/aggregates.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::graph {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kNoPlace = std::numeric_limits<size_t>::max();

std::string_view LabelOf(const GraphStore& store, Child child) {
  const std::string_view name = child.is_scope ? store.scope(child.index).name
                                               : store.node(child.index).name;
  return name.substr(name.rfind('/') + 1);
}

std::vector<Child> ChildrenOf(const Scope& scope) {
  std::vector<Child> children;
  children.reserve(scope.scopes.size() + scope.nodes.size());
  for (ScopeIndex s : scope.scopes) children.push_back({true, s});
  for (NodeIndex n : scope.nodes) children.push_back({false, n});
  return children;
}

std::vector<Child> MembersOf(const GraphStore& store, const Scope& scope,
                             std::string_view stem) {
  std::vector<Child> members;
  for (Child child : ChildrenOf(scope)) {
    if (StemOf(LabelOf(store, child)) == stem) members.push_back(child);
  }
  return members;
}

std::optional<size_t> ParseSize(std::string_view text) {
  size_t size = 0;
  auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return size;
}

}  // namespace

std::string_view StemOf(std::string_view label) {
  const size_t last = label.find_last_not_of(kDigits);
  if (last == std::string_view::npos) return {};
  if (last + 1 == label.size()) return label;
  // "relu__1" is the second "relu_", the in-place variant of "relu".
  return label.substr(0, label[last] == '_' ? last : last + 1);
}

std::optional<AggregateName> ParseAggregate(std::string_view name) {
  const size_t bracket = name.rfind('[');
  if (bracket == std::string_view::npos || !name.ends_with(']')) {
    return std::nullopt;
  }
  AggregateName parsed;
  const std::string_view range =
      name.substr(bracket + 1, name.size() - bracket - 2);
  const size_t slash = name.substr(0, bracket).rfind('/');
  const bool at_top = slash == std::string_view::npos;
  parsed.scope = at_top ? std::string_view() : name.substr(0, slash);
  parsed.stem = at_top ? name.substr(0, bracket)
                       : name.substr(slash + 1, bracket - slash - 1);
  if (range == "*") return parsed;
  const size_t colon = range.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto begin = ParseSize(range.substr(0, colon));
  const auto end = ParseSize(range.substr(colon + 1));
  if (!begin || !end || *begin >= *end) return std::nullopt;
  parsed.range = {*begin, *end};
  return parsed;
}

std::string AggregateLabel(std::string_view stem,
                           std::optional<AggregateName::Range> range) {
  const std::string text(stem);
  if (!range) return absl::StrCat(text, "[*]");
  return absl::StrCat(text, "[", range->begin, ":", range->end, "]");
}

std::vector<ViewItem> AggregateChildren(const GraphStore& store,
                                        const Scope& scope, size_t above) {
  const std::vector<Child> children = ChildrenOf(scope);
  std::vector<ViewItem> items;
  if (children.size() <= above) {
    for (Child child : children) items.push_back({{child}, {}});
    return items;
  }
  struct Group {
    std::string_view stem;
    size_t count = 0;
    size_t place = kNoPlace;
  };
  std::vector<Group> groups;
  absl::flat_hash_map<std::string_view, size_t> by_stem;
  // Indexed like `children`.
  std::vector<size_t> group_of;
  group_of.reserve(children.size());
  for (Child child : children) {
    const std::string_view stem = StemOf(LabelOf(store, child));
    const auto [it, is_new] = by_stem.try_emplace(stem, groups.size());
    if (is_new) groups.push_back({stem});
    ++groups[it->second].count;
    group_of.push_back(it->second);
  }
  for (size_t i = 0; i < children.size(); ++i) {
    Group& group = groups[group_of[i]];
    if (group.count <= above) {
      items.push_back({{children[i]}, {}});
      continue;
    }
    if (group.place == kNoPlace) {
      group.place = items.size();
      items.push_back({{}, AggregateLabel(group.stem, std::nullopt)});
    }
    items[group.place].children.push_back(children[i]);
  }
  return items;
}

std::vector<ViewItem> ExpandAggregate(const GraphStore& store,
                                      const Scope& scope,
                                      const AggregateName& name) {
  const std::vector<Child> members = MembersOf(store, scope, name.stem);
  const size_t begin =
      name.range ? std::min(name.range->begin, members.size()) : 0;
  const size_t end =
      name.range ? std::min(name.range->end, members.size()) : members.size();
  std::vector<ViewItem> items;
  if (name.range || members.size() <= kAggregateRange) {
    for (size_t i = begin; i < end; ++i) items.push_back({{members[i]}, {}});
    return items;
  }
  for (size_t at = 0; at < members.size(); at += kAggregateRange) {
    const AggregateName::Range range{at, at + kAggregateRange};
    const size_t last = std::min(range.end, members.size());
    items.push_back({{members.begin() + static_cast<std::ptrdiff_t>(at),
                      members.begin() + static_cast<std::ptrdiff_t>(last)},
                     AggregateLabel(name.stem, range)});
  }
  return items;
}

}  // namespace graphdbg::graph
