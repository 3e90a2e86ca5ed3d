#include "agent/core/call_site.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "agent/core/module_calls.h"

namespace graphdbg::agent {
namespace {

using StackFrame = NodeTable::StackFrame;

// Adapters capture at least so many frames.
constexpr size_t kCompleteBelow = 32;

bool IsFunction(const StackFrame& a, const StackFrame& b) {
  return a.function == b.function && a.file == b.file;
}

bool IsLine(const StackFrame& a, const StackFrame& b) {
  return a.line == b.line && IsFunction(a, b);
}

bool IsIn(absl::string_view name, absl::string_view scope) {
  return name.size() > scope.size() && name[scope.size()] == '/' &&
         absl::StartsWith(name, scope);
}

// The frame of a module, or of what it has called outside other modules.
size_t FrameOf(const std::vector<NodeTable::Scope>& scopes,
               const std::vector<StackFrame>& stack, absl::string_view scope) {
  const std::vector<size_t> calls = CallsOf(scopes, stack);
  size_t outermost = stack.size() - 1;
  size_t innermost = 0;
  for (size_t i = 0; i < scopes.size(); ++i) {
    if (scopes[i].name != scope || calls[i] == kNotCalled) continue;
    outermost = calls[i];
    for (size_t inner = i + 1; inner < scopes.size(); ++inner) {
      if (calls[inner] == kNotCalled) continue;
      innermost = calls[inner] + 1;
      break;
    }
  }
  for (size_t i = innermost; i < outermost; ++i) {
    if (stack[i].user) return i;
  }
  return outermost;
}

}  // namespace

CallSite::CallSite(const NodeTable& nodes, uint32_t node,
                   absl::string_view scope)
    : nodes_(&nodes), scope_(scope) {
  const std::vector<StackFrame> stack = nodes.StackOf(node);
  if (stack.empty()) return;
  const std::vector<NodeTable::Scope> scopes = nodes.ScopesOf(node);
  size_t inner = 0;
  while (inner < scopes.size() && scopes[inner].name != scope) ++inner;
  Enter(stack, FrameOf(scopes, stack, scope), scopes, inner + 1);
}

CallSite::CallSite(const NodeTable& nodes, uint32_t node, size_t frame)
    : nodes_(&nodes) {
  const std::vector<StackFrame> stack = nodes.StackOf(node);
  const std::vector<NodeTable::Scope> scopes = nodes.ScopesOf(node);
  const std::vector<size_t> calls = CallsOf(scopes, stack);
  size_t inner = scopes.size();
  while (inner > 0 &&
         (calls[inner - 1] == kNotCalled || calls[inner - 1] < frame)) {
    --inner;
  }
  if (inner > 0) scope_ = scopes[inner - 1].name;
  Enter(stack, frame, scopes, inner);
}

void CallSite::Enter(const std::vector<StackFrame>& stack, size_t frame,
                     const std::vector<NodeTable::Scope>& scopes,
                     size_t inner) {
  frames_.assign(stack.begin() + static_cast<ptrdiff_t>(frame), stack.end());
  incomplete_ = stack.size() >= kCompleteBelow;
  // Lists may have lists as members.
  for (; inner + 1 < scopes.size(); ++inner) {
    if (!IsModuleList(scopes[inner])) break;
    if (list_.empty()) list_ = scopes[inner].name;
    member_ = scopes[inner + 1].name;
  }
}

CallSite::Relation CallSite::RelationOf(uint32_t node) const {
  const std::vector<StackFrame> stack = nodes_->StackOf(node);
  if (frames_.empty() || stack.empty()) return Relation::kUnrelated;
  const std::string name = nodes_->InfoOf(node).name;
  if (!scope_.empty() && !IsIn(name, scope_)) return Relation::kOtherLine;
  const bool incomplete = incomplete_ || stack.size() >= kCompleteBelow;
  if (!incomplete && !IsFunction(frames_.back(), stack.back())) {
    return Relation::kUnrelated;
  }
  for (size_t begin = 0; begin < stack.size(); ++begin) {
    const size_t outwards = stack.size() - begin;
    if (!incomplete && outwards != frames_.size()) continue;
    const size_t both = std::min(outwards, frames_.size());
    if (!std::equal(frames_.begin(), frames_.begin() + both,
                    stack.begin() + begin, IsLine)) {
      continue;
    }
    return IsNextRound(name) ? Relation::kOtherLine : Relation::kSameLine;
  }
  return Relation::kOtherLine;
}

bool CallSite::IsNextRound(absl::string_view name) const {
  return !list_.empty() && IsIn(name, list_) && !IsIn(name, member_);
}

}  // namespace graphdbg::agent
