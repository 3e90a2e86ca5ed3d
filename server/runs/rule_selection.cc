#include "server/runs/rule_selection.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/conditions/selector.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::recorded {
namespace {

using Patterns = std::vector<std::unique_ptr<RE2>>;

absl::Status Invalid(const std::string& field, const std::string& message) {
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_field", message),
      "select." + field);
}

absl::StatusOr<Patterns> CompileAll(const std::vector<std::string>& texts,
                                    const std::string& field) {
  Patterns patterns;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto pattern = std::make_unique<RE2>(texts[i], RE2::Quiet);
    if (!pattern->ok()) {
      return Invalid(absl::StrCat(field, "[", i, "]"),
                     absl::StrCat("'", texts[i], "' is no regular expression: ",
                                  pattern->error()));
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

bool FoundIn(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& each) {
    return RE2::PartialMatch(name, *each);
  });
}

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Absent if nodes are not selected by these lists.
std::optional<conditions::NodeMatcher> MatcherOf(
    const model::RuleSelection& from) {
  conditions::NodeSelection selection;
  selection.nodes = from.nodes;
  selection.scopes = from.scopes;
  selection.patterns = from.patterns;
  selection.categories = from.categories;
  if (selection.everything()) return std::nullopt;
  return conditions::NodeMatcher(std::move(selection));
}

absl::Status CheckPatterns(const std::vector<std::string>& patterns) {
  size_t bytes = 0;
  for (const std::string& pattern : patterns) bytes += pattern.size();
  if (bytes <= conditions::kMaxSelectionPatternBytes) return absl::OkStatus();
  return Invalid("patterns",
                 absl::StrCat("the patterns have more than ",
                              conditions::kMaxSelectionPatternBytes, " bytes"));
}

}  // namespace

absl::StatusOr<SelectedTensors> SelectedTensors::Find(
    const graph::GraphStore& graph,
    const std::vector<model::Collection>& collections,
    const std::vector<model::RuleSpec>& rules) {
  SelectedTensors selected;
  selected.nodes_.resize(graph.node_count());
  for (size_t i = 0; i < rules.size(); ++i) {
    const absl::Status status =
        selected.Add(graph, collections, rules[i].selection, RuleMask{1} << i);
    if (!status.ok()) {
      return WithField(status,
                       absl::StrCat("rules[", i, "].", FieldOf(status)));
    }
  }
  return selected;
}

absl::Status SelectedTensors::Add(
    const graph::GraphStore& graph,
    const std::vector<model::Collection>& collections,
    const model::RuleSelection& selection, RuleMask rule) {
  RETURN_IF_ERROR(CheckPatterns(selection.patterns));
  ASSIGN_OR_RETURN(const Patterns include,
                   CompileAll(selection.include, "include"));
  ASSIGN_OR_RETURN(const Patterns exclude,
                   CompileAll(selection.exclude, "exclude"));
  const auto matcher = MatcherOf(selection);
  const bool everything = !matcher && include.empty() &&
                          selection.op_types.empty() &&
                          selection.collections.empty();
  RETURN_IF_ERROR(
      AddCollections(graph, collections, selection.collections, rule));
  for (graph::NodeIndex i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(i);
    Node& to = nodes_[i];
    if (everything || FoundIn(include, node.name) ||
        Contains(selection.op_types, node.op_type) ||
        (matcher && matcher->Matches({node.name, node.category}))) {
      to.selected |= rule;
      to.name = node.name;
    }
    if (FoundIn(exclude, node.name)) to.excluded |= rule;
  }
  return absl::OkStatus();
}

absl::Status SelectedTensors::AddCollections(
    const graph::GraphStore& graph,
    const std::vector<model::Collection>& collections,
    const std::vector<std::string>& names, RuleMask rule) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = std::find_if(
        collections.begin(), collections.end(),
        [&](const model::Collection& each) { return each.name == names[i]; });
    if (found == collections.end()) {
      const std::string known = absl::StrJoin(
          collections, ", ", [](std::string* out, const auto& each) {
            absl::StrAppend(out, each.name);
          });
      return Invalid(
          absl::StrCat("collections[", i, "]"),
          absl::StrCat("the run has no collection '", names[i], "'; there are ",
                       known.empty() ? "none" : known));
    }
    for (const std::string& tensor : found->tensors) {
      const size_t colon = tensor.rfind(':');
      const std::string name = tensor.substr(0, colon);
      const graph::NodeIndex node = graph.FindNode(name);
      uint32_t slot = 0;
      if (node == graph::kNoNode || colon == tensor.npos ||
          !absl::SimpleAtoi(tensor.substr(colon + 1), &slot)) {
        continue;
      }
      members_[{node, slot}] |= rule;
      nodes_[node].name = name;
    }
  }
  return absl::OkStatus();
}

RuleMask SelectedTensors::RulesOf(graph::NodeIndex node, uint32_t slot) const {
  if (node >= nodes_.size()) return 0;
  RuleMask rules = nodes_[node].selected;
  const auto member = members_.find({node, slot});
  if (member != members_.end()) rules |= member->second;
  return rules & ~nodes_[node].excluded;
}

}  // namespace graphdbg::recorded
