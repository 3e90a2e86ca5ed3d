#include "agent/core/reported_finding.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/core/message_parts.h"

namespace graphdbg::agent {
namespace {

v1::SourceFrame SourceOf(const graphdbg_finding& finding,
                         const NodeTable& nodes) {
  if (finding.source == nullptr || finding.source->file == nullptr) {
    return nodes.UserFrameOf(finding.node);
  }
  v1::SourceFrame frame;
  frame.set_file(ValidText(finding.source->file));
  frame.set_function(ValidText(finding.source->function));
  frame.set_line(finding.source->line);
  frame.set_user(finding.source->user != 0);
  return frame;
}

v1::Hit MakeHit(const Watchpoint& watchpoint, const graphdbg_finding& finding,
                const NodeTable& nodes, const ExecutionPoint& point) {
  v1::Hit hit;
  hit.set_watchpoint(watchpoint.id);
  hit.set_revision(watchpoint.revision);
  hit.set_step(point.step);
  hit.set_node_id(finding.node);
  hit.set_order(point.order);
  hit.set_message(ValidText(finding.message));
  hit.set_origin(v1::HIT_ORIGIN_ORIGIN);
  *hit.mutable_source() = SourceOf(finding, nodes);
  hit.set_time_unix_nano(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  return hit;
}

}  // namespace

absl::Status AddReported(const graphdbg_finding& finding,
                         const WatchSnapshot& watch, const NodeTable& nodes,
                         const ExecutionPoint& point, Findings* findings) {
  const conditions::Condition* const row = conditions::Find(finding.condition);
  if (row == nullptr || !row->reported_by_program()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", finding.condition, "' is no condition that a program reports"));
  }
  const NodeFacts* const facts = nodes.Facts(finding.node);
  if (facts == nullptr || !facts->has(kAnyNode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", finding.node, " was not declared"));
  }
  const NodeTable::Info info = nodes.InfoOf(finding.node);
  for (const Watchpoint* const watchpoint : watch.OnReported(row->id)) {
    if (!watchpoint->matcher.Matches(info.description())) continue;
    findings->hits.push_back(MakeHit(*watchpoint, finding, nodes, point));
    if (watchpoint->pause != v1::PAUSE_MODE_NONE) {
      findings->AddStop(watchpoint->id, v1::PAUSE_MODE_STEP);
    }
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
