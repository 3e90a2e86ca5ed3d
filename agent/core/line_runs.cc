#include "agent/core/line_runs.h"

#include <vector>

namespace graphdbg::agent {

bool LineRuns::Begins(uint64_t step, uint64_t order, uint32_t inputs_before,
                      uint32_t node) {
  MutexLock lock(&mu_);
  const bool goes_on = step == step_ && order == order_ + inputs_before + 1 &&
                       node != first_ && site_ &&
                       site_->RelationOf(node) == CallSite::Relation::kSameLine;
  step_ = step;
  order_ = order;
  if (goes_on) return false;
  first_ = node;
  site_.reset();
  if (const auto frame = FrameOf(node)) site_.emplace(nodes_, node, *frame);
  return true;
}

std::optional<size_t> LineRuns::FrameOf(uint32_t node) const {
  const NodeTable::Info info = nodes_.InfoOf(node);
  const conditions::NodeDescription description = info.description();
  const bool own = lines_.Matches(description);
  if (!own && !lines_.follows_calls()) return std::nullopt;
  const std::vector<NodeTable::StackFrame> stack = nodes_.StackOf(node);
  for (size_t i = 0; i < stack.size(); ++i) {
    const NodeTable::StackFrame& frame = stack[i];
    if (!frame.user) continue;
    if (own || lines_.MatchesCall(description, frame.file, frame.line)) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace graphdbg::agent
