#include "server/watch/validation.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

constexpr size_t kMaxNodes = 10'000;
constexpr size_t kMaxScopes = 256;
constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxNameBytes = 4'096;
// Matching costs the product of the lengths of pattern and name.
constexpr size_t kMaxPatternBytes = 1'024;
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
  RETURN_IF_ERROR(CheckList(selection.patterns, "patterns", kMaxPatterns,
                            kMaxPatternBytes));
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
