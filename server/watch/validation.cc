#include "server/watch/validation.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

constexpr size_t kMaxNodes = 10'000;
constexpr size_t kMaxScopes = 256;
constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxNameBytes = 4'096;
// Matching costs the product of the lengths of pattern and name.
constexpr size_t kMaxPatternBytes = 1'024;
// Of all names together: the selection travels in one message.
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
    return Wrong(field, absl::StrCat(list.size(), " ", field, "; at most ",
                                     max_count, " are allowed"));
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
  return Wrong(field, absl::StrCat(field, " hold ", total, " bytes; at most ",
                                   kMaxTotalBytes, " are allowed"));
}

}  // namespace

absl::Status ValidateSpec(const model::WatchpointSpec& spec,
                          const graph::GraphStore& graph) {
  auto condition = conditions::Validate(
      spec.condition.id, {spec.condition.params, spec.condition.text_params});
  return condition.ok() ? ValidateSelection(spec, graph) : condition;
}

absl::Status ValidateSelection(const model::WatchpointSpec& spec,
                               const graph::GraphStore& graph) {
  if (conditions::Find(spec.condition.id) == nullptr) {
    // It says which conditions there are.
    return conditions::Validate(spec.condition.id, {});
  }
  const model::Selection& selection = spec.selection;
  for (const absl::Status& status :
       {CheckList(selection.nodes, "nodes", kMaxNodes, kMaxNameBytes),
        CheckList(selection.scopes, "scopes", kMaxScopes, kMaxNameBytes),
        CheckList(selection.patterns, "patterns", kMaxPatterns,
                  kMaxPatternBytes)}) {
    if (!status.ok()) return status;
  }
  const auto& row = *conditions::Find(spec.condition.id);
  for (size_t i = 0; i < selection.nodes.size(); ++i) {
    const std::string field = absl::StrCat("nodes[", i, "]");
    const graph::NodeIndex node = graph.FindNode(selection.nodes[i]);
    if (node == graph::kNoNode) return UnknownNode(field, selection.nodes[i]);
    const auto target = conditions::TargetOf(row);
    if (target && *target != graph.node(node).category) {
      return Wrong(
          field, absl::StrCat("\"", selection.nodes[i], "\" is no ", row.target,
                              ", which condition \"", row.id, "\" is about"));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::watch
