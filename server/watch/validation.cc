#include "server/watch/validation.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/conditions/pattern_set.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

constexpr size_t kMaxNodes = 10'000;
constexpr size_t kMaxScopes = 256;
constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxNameBytes = 4'096;
// Steps of PatternSet for all nodes of a job, about half a second.
constexpr uint64_t kMaxMatchSteps = uint64_t{1} << 30;
// Limits the total size of each list: a selection is sent in one message.
constexpr size_t kMaxTotalBytes = 1 << 20;

absl::Status Wrong(std::string_view field, const std::string& message) {
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_watchpoint", message),
      field);
}

absl::Status UnknownNode(std::string_view field, const std::string& name) {
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "unknown_node",
            absl::StrCat("no node \"", name,
                         "\"; use scopes or patterns for nodes that are not "
                         "known yet")),
      field);
}

absl::Status CheckList(const std::vector<std::string>& list,
                       const std::string& field, size_t max_count,
                       size_t max_bytes) {
  if (list.size() > max_count) {
    return Wrong(field, absl::StrCat(list.size(), " ", field, "; the limit is ",
                                     max_count));
  }
  size_t total = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    total += list[i].size();
    const std::string element = absl::StrCat(field, "[", i, "]");
    if (list[i].empty()) return Wrong(element, element + " is empty");
    if (list[i].size() > max_bytes) {
      return Wrong(element, absl::StrCat(element, " is longer than ", max_bytes,
                                         " bytes"));
    }
  }
  if (total <= kMaxTotalBytes) return absl::OkStatus();
  return Wrong(field, absl::StrCat(field, " take ", total,
                                   " bytes; the limit is ", kMaxTotalBytes));
}

// Patterns are matched on the job's strand, and in the training process.
absl::Status CheckPatterns(const std::vector<std::string>& patterns,
                           const graph::GraphStore& graph) {
  RETURN_IF_ERROR(CheckList(patterns, "patterns", kMaxPatterns,
                            conditions::kMaxPatternBytes));
  size_t bytes = 0;
  for (const std::string& pattern : patterns) bytes += pattern.size();
  if (bytes > conditions::kMaxSelectionPatternBytes) {
    return Wrong("patterns",
                 absl::StrCat("the patterns have ", bytes,
                              " bytes together; the limit is ",
                              conditions::kMaxSelectionPatternBytes));
  }
  const uint64_t steps =
      conditions::PatternSet(patterns).words() * graph.name_bytes();
  if (steps <= kMaxMatchSteps) return absl::OkStatus();
  return Wrong("patterns",
               absl::StrCat("matching patterns of ", bytes, " bytes with the ",
                            graph.node_count(), " nodes of this job takes ",
                            steps, " steps; the limit is ", kMaxMatchSteps,
                            "; use fewer or shorter patterns, or scopes"));
}

}  // namespace

absl::Status ValidateSpec(const model::WatchpointSpec& spec,
                          const graph::GraphStore& graph) {
  RETURN_IF_ERROR(conditions::Validate(
      spec.condition.id, {spec.condition.params, spec.condition.text_params}));
  return ValidateSelection(spec, graph);
}

absl::Status ValidateSelection(const model::WatchpointSpec& spec,
                               const graph::GraphStore& graph) {
  if (conditions::Find(spec.condition.id) == nullptr) {
    // The error lists the known conditions.
    return conditions::Validate(spec.condition.id, {});
  }
  const model::Selection& selection = spec.selection;
  RETURN_IF_ERROR(
      CheckList(selection.nodes, "nodes", kMaxNodes, kMaxNameBytes));
  RETURN_IF_ERROR(
      CheckList(selection.scopes, "scopes", kMaxScopes, kMaxNameBytes));
  RETURN_IF_ERROR(CheckPatterns(selection.patterns, graph));
  const auto& row = *conditions::Find(spec.condition.id);
  for (size_t i = 0; i < selection.nodes.size(); ++i) {
    const std::string field = absl::StrCat("nodes[", i, "]");
    const graph::NodeIndex node = graph.FindNode(selection.nodes[i]);
    if (node == graph::kNoNode) return UnknownNode(field, selection.nodes[i]);
    const auto target = conditions::TargetOf(row);
    if (target && *target != graph.node(node).category) {
      return Wrong(field, absl::StrCat("condition \"", row.id,
                                       "\" applies to nodes of category ",
                                       row.target, "; \"", selection.nodes[i],
                                       "\" is of another category"));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::watch
