#include "server/watch/validation.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/conditions/pattern_set.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/watch/coverage.h"

namespace graphdbg::watch {
namespace {

// Steps of PatternSet for all nodes of a job, about half a second.
constexpr uint64_t kMaxMatchSteps = uint64_t{1} << 30;
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

// Patterns are matched on the job's strand, and in the training process.
absl::Status CheckPatterns(const std::vector<std::string>& patterns,
                           const graph::GraphStore& graph) {
  const uint64_t steps =
      conditions::PatternSet(patterns).words() * graph.name_bytes();
  if (steps <= kMaxMatchSteps) return absl::OkStatus();
  return Wrong("patterns",
               absl::StrCat("matching the patterns with the ",
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
  RETURN_IF_ERROR(conditions::Validate(selection));
  std::vector<std::string> patterns = selection.patterns;
  patterns.insert(patterns.end(), selection.exclude.patterns.begin(),
                  selection.exclude.patterns.end());
  RETURN_IF_ERROR(CheckPatterns(patterns, graph));
  const auto& row = *conditions::Find(spec.condition.id);
  for (size_t i = 0; i < selection.nodes.size(); ++i) {
    const std::string field = absl::StrCat("nodes[", i, "]");
    const graph::NodeIndex node = graph.FindNode(selection.nodes[i]);
    if (node == graph::kNoNode) return UnknownNode(field, selection.nodes[i]);
    if (conditions::TargetOf(row).Includes(Describe(graph, node))) continue;
    const bool ops = row.target == "op";
    return Wrong(
        field, absl::StrCat("condition \"", row.id, "\" applies to ",
                            ops ? "ops" : "nodes of category ",
                            ops ? "" : row.target, "; \"", selection.nodes[i],
                            ops ? "\" is none" : "\" is of another category"));
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::watch
