#include "agent/adapters/pytorch/node_names.h"

#include <algorithm>
#include <utility>

namespace graphdbg::pytorch {

NodeNames::NodeNames() { Scope("", ""); }

uint32_t NodeNames::Scope(std::string_view path, std::string_view type) {
  // The scope of an optimizer is requested repeatedly.
  if (last_scope_ < scopes_.size() && scopes_[last_scope_].path == path &&
      !scopes_[last_scope_].type.empty()) {
    return last_scope_;
  }
  const auto [entry, added] = scope_by_path_.emplace(
      std::string(path), static_cast<uint32_t>(scopes_.size()));
  if (added) scopes_.push_back({std::string(path), std::string(type)});
  ScopeRecord& scope = scopes_[entry->second];
  if (scope.type.empty()) scope.type = type;
  return last_scope_ = entry->second;
}

std::string NodeNames::FullName(Phase phase, uint32_t scope) const {
  static constexpr const char* kRoots[] = {"forward", "backward", "optimizer"};
  std::string name = kRoots[static_cast<size_t>(phase)];
  if (!scopes_[scope].path.empty()) name += '/' + scopes_[scope].path;
  return name;
}

bool NodeNames::FirstUse(Phase phase, uint32_t scope) {
  return !std::exchange(scopes_[scope].used[static_cast<size_t>(phase)], true);
}

void NodeNames::Reserve(std::string full_name) {
  reserved_.insert(std::move(full_name));
}

NodeNames::Series& NodeNames::SeriesOf(const Placement& placement,
                                       const OpName& op) {
  // Scopes are numbered from 0, segments from the maximum downwards.
  const uint32_t scope =
      placement.outside ? ~uint32_t{0} - segment_ : placement.scope;
  return series_[Key(placement.phase, scope, op)];
}

NodeNames::Place NodeNames::Count(const Placement& placement,
                                  const OpName& op) {
  Series& series = SeriesOf(placement, op);
  if (series.pass != pass_) {
    series.pass = pass_;
    series.count = 0;
  }
  const uint32_t position = std::min(series.count++, kMaxPerName - 1);
  if (position >= series.nodes.size()) series.nodes.resize(position + 1);
  return {position, series.nodes[position]};
}

std::string NodeNames::NewName(const Placement& placement, const OpName& op) {
  const std::string base =
      FullName(placement.phase, placement.scope) + '/' + op.text;
  uint32_t& suffix = next_suffix_[Key(placement.phase, placement.scope, op)];
  while (true) {
    const uint32_t number = suffix++;
    std::string name = number == 0 ? base : base + '_' + std::to_string(number);
    if (reserved_.count(name) == 0) return name;
  }
}

void NodeNames::SetNode(const Placement& placement, const OpName& op,
                        uint32_t position, uint32_t node) {
  auto& nodes = SeriesOf(placement, op).nodes;
  if (position >= nodes.size()) nodes.resize(position + 1);
  nodes[position] = node;
}

}  // namespace graphdbg::pytorch
