#include "agent/core/node_goal.h"

#include "absl/strings/match.h"

namespace graphdbg::agent {
namespace {

// The scope that contains a node directly; empty at the top.
absl::string_view ScopeOf(absl::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == absl::string_view::npos ? "" : name.substr(0, slash);
}

// Whether the scope lies inside another one.
bool IsInside(absl::string_view scope, absl::string_view other) {
  if (other.empty()) return !scope.empty();
  return scope.size() > other.size() && scope[other.size()] == '/' &&
         absl::StartsWith(scope, other);
}

// Backward ops have their forward op's line, or that of the backward pass.
bool IsForward(absl::string_view name) {
  return absl::StartsWith(name, "forward/");
}

}  // namespace

NodeGoal::NodeGoal(const v1::Command::NextNode& command, uint32_t from,
                   const NodeTable& nodes) {
  const bool in_scope =
      command.scope_case() != v1::Command::NextNode::SCOPE_NOT_SET;
  if (!in_scope && !command.other_line()) return;
  nodes_ = &nodes;
  if (command.has_within()) within_ = command.within();
  if (command.has_outside()) outside_ = command.outside();
  if (!command.other_line() || from == 0) return;
  const NodeTable::Info info = nodes.InfoOf(from);
  file_ = info.file;
  line_ = info.line;
  if (within_ && IsForward(info.name)) site_.emplace(nodes, from, *within_);
}

bool NodeGoal::Includes(uint32_t node) const {
  if (!passes_over()) return true;
  const NodeTable::Info info = nodes_->InfoOf(node);
  if (site_ && IsForward(info.name)) {
    const CallSite::Relation relation = site_->RelationOf(node);
    if (relation != CallSite::Relation::kUnrelated) {
      return relation == CallSite::Relation::kOtherLine;
    }
  }
  return !HasLineToLeave(info) && !IsPassedScope(ScopeOf(info.name));
}

bool NodeGoal::HasLineToLeave(const NodeTable::Info& info) const {
  return line_ != 0 && info.line == line_ && info.file == file_;
}

bool NodeGoal::IsPassedScope(absl::string_view scope) const {
  if (within_) return IsInside(scope, *within_);
  if (outside_) return scope == *outside_ || IsInside(scope, *outside_);
  return false;
}

}  // namespace graphdbg::agent
