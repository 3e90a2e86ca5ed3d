#include "server/watch/watch_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/watch/validation.h"

namespace graphdbg::watch {
namespace {

using graph::NodeIndex;
using graph::ScopeIndex;

// The selection without the listed nodes, which are always known and are
// covered by name.
conditions::NodeSelection PredicateOf(const model::WatchpointSpec& spec) {
  const model::Selection& selection = spec.selection;
  conditions::NodeSelection out;
  out.scopes = selection.scopes;
  out.patterns = selection.patterns;
  out.categories = selection.categories;
  out.target = conditions::TargetOf(*conditions::Find(spec.condition.id));
  return out;
}

// Users may write "a/b/" for the scope "a/b".
void Normalize(model::Selection& selection) {
  for (std::string& scope : selection.scopes) {
    while (scope.size() > 1 && scope.back() == '/') scope.pop_back();
  }
}

size_t PatternBytes(const model::Selection& selection) {
  size_t bytes = 0;
  for (const std::string& pattern : selection.patterns) bytes += pattern.size();
  return bytes;
}

absl::Status UnknownWatchpoint(uint32_t id) {
  return Error(absl::StatusCode::kNotFound, "unknown_watchpoint",
               absl::StrCat("no watchpoint ", id));
}

}  // namespace

absl::StatusOr<uint32_t> WatchTable::Add(model::WatchpointSpec spec) {
  Normalize(spec.selection);
  RETURN_IF_ERROR(ValidateSpec(spec, graph_));
  if (live_ >= kMaxWatchpoints || entries_.size() >= 10 * kMaxWatchpoints) {
    return Error(absl::StatusCode::kResourceExhausted, "too_many_watchpoints",
                 absl::StrCat("the job has ", live_, " watchpoints and had ",
                              entries_.size() - live_,
                              " more; it cannot have another one"));
  }
  RETURN_IF_ERROR(CheckAllPatterns(0, spec.selection));
  MatchNewNodes();
  const uint32_t id = static_cast<uint32_t>(entries_.size() + 1);
  Install(entries_[id], std::move(spec));
  ++live_;
  return id;
}

absl::StatusOr<uint64_t> WatchTable::CountOf(model::WatchpointSpec spec) const {
  Normalize(spec.selection);
  RETURN_IF_ERROR(ValidateSelection(spec, graph_));
  WatchTable scratch(graph_);
  scratch.MatchNewNodes();
  Entry entry;
  scratch.Install(entry, std::move(spec));
  return entry.node_count;
}

absl::Status WatchTable::Change(uint32_t id,
                                const model::WatchpointChange& change) {
  Entry* entry = Find(id);
  if (entry == nullptr) return UnknownWatchpoint(id);
  model::WatchpointSpec spec = entry->spec;
  if (change.condition) spec.condition = *change.condition;
  if (change.selection) spec.selection = *change.selection;
  if (change.pause) spec.pause = *change.pause;
  if (change.enabled) spec.enabled = *change.enabled;
  Normalize(spec.selection);
  RETURN_IF_ERROR(ValidateSpec(spec, graph_));
  RETURN_IF_ERROR(CheckAllPatterns(id, spec.selection));
  MatchNewNodes();
  CountWatchers(*entry, -1);
  Install(*entry, std::move(spec));
  return absl::OkStatus();
}

absl::Status WatchTable::CheckAllPatterns(
    uint32_t id, const model::Selection& selection) const {
  const size_t own = PatternBytes(selection);
  size_t all = own;
  for (const auto& [other, entry] : entries_) {
    if (other != id && !entry.removed)
      all += PatternBytes(entry.spec.selection);
  }
  // Selections without patterns are always possible.
  if (own == 0 || all <= conditions::kMaxJobPatternBytes) {
    return absl::OkStatus();
  }
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_watchpoint",
            absl::StrCat("the patterns of all watchpoints of the job have ",
                         all, " bytes; the limit is ",
                         conditions::kMaxJobPatternBytes)),
      "patterns");
}

absl::Status WatchTable::Remove(uint32_t id) {
  Entry* entry = Find(id);
  if (entry == nullptr) return UnknownWatchpoint(id);
  CountWatchers(*entry, -1);
  entry->removed = true;
  entry->covers = {};
  entry->errors.clear();
  --live_;
  return absl::OkStatus();
}

absl::Status WatchTable::Restore(uint32_t id, uint32_t revision,
                                 const model::WatchpointSpec* spec) {
  const auto lost = [&](const char* what) {
    return absl::DataLossError(
        absl::StrCat("watchpoint ", id, ", revision ", revision, ": ", what));
  };
  if (spec == nullptr) {
    return Remove(id).ok() ? absl::OkStatus()
                           : lost("removes a watchpoint that does not exist");
  }
  const Entry* known = Find(id);
  const bool next = known == nullptr
                        ? id == entries_.size() + 1 && revision == 1
                        : revision == known->conditions.size() + 1;
  if (!next) return lost("out of order");
  if (conditions::Find(spec->condition.id) == nullptr) {
    return lost("has an unknown condition");
  }
  MatchNewNodes();
  Entry& entry = entries_[id];
  if (revision == 1) ++live_;
  CountWatchers(entry, -1);
  Install(entry, *spec);
  return absl::OkStatus();
}

void WatchTable::Install(Entry& entry, model::WatchpointSpec spec) {
  entry.spec = std::move(spec);
  conditions::NodeSelection predicate = PredicateOf(entry.spec);
  entry.only_listed =
      !entry.spec.selection.nodes.empty() && predicate.everything();
  entry.matcher = conditions::NodeMatcher(std::move(predicate));
  entry.conditions.push_back(
      std::make_shared<const model::Condition>(entry.spec.condition));
  entry.errors.clear();
  entry.covers.assign(matched_, false);
  entry.node_count = 0;
  for (const std::string& name : entry.spec.selection.nodes) {
    const NodeIndex node = graph_.FindNode(name);
    if (node != graph::kNoNode && !entry.covers[node]) Cover(entry, node);
  }
  Match(entry, 0);
}

void WatchTable::Match(Entry& entry, NodeIndex from) {
  entry.covers.resize(matched_, false);
  if (entry.only_listed) return;
  for (NodeIndex i = from; i < matched_; ++i) {
    if (entry.covers[i]) continue;
    const graph::Node& node = graph_.node(i);
    if (entry.matcher.Matches(node.name, node.category)) {
      Cover(entry, i);
    }
  }
}

void WatchTable::Cover(Entry& entry, NodeIndex node) {
  entry.covers[node] = true;
  ++entry.node_count;
  if (entry.spec.enabled) CountWatcher(node, +1);
}

std::vector<uint32_t> WatchTable::MatchNewNodes() {
  std::vector<uint32_t> grown;
  const NodeIndex from = matched_;
  matched_ = static_cast<NodeIndex>(graph_.node_count());
  watchers_.resize(matched_, 0);
  watched_below_.resize(graph_.scope_count(), 0);
  if (from == matched_) return grown;
  for (auto& [id, entry] : entries_) {
    if (entry.removed) continue;
    const uint64_t count = entry.node_count;
    Match(entry, from);
    if (entry.node_count != count) grown.push_back(id);
  }
  return grown;
}

void WatchTable::CountWatchers(const Entry& entry, int by) {
  if (!entry.spec.enabled) return;
  for (NodeIndex i = 0; i < entry.covers.size(); ++i) {
    if (entry.covers[i]) CountWatcher(i, by);
  }
}

void WatchTable::CountWatcher(NodeIndex node, int by) {
  const bool was_watched = watchers_[node] > 0;
  watchers_[node] += by;
  const bool is_watched = watchers_[node] > 0;
  if (was_watched == is_watched) return;
  for (ScopeIndex s = graph_.node(node).scope;; s = graph_.scope(s).parent) {
    watched_below_[s] += is_watched ? 1 : -1;
    if (graph_.scope(s).parent == s) break;
  }
}

std::vector<uint32_t> WatchTable::Ids() const {
  std::vector<uint32_t> ids;
  for (const auto& [id, entry] : entries_) {
    if (!entry.removed) ids.push_back(id);
  }
  return ids;
}

std::vector<uint32_t> WatchTable::RemovedIds() const {
  std::vector<uint32_t> ids;
  for (const auto& [id, entry] : entries_) {
    if (entry.removed) ids.push_back(id);
  }
  return ids;
}

absl::Status WatchTable::Check(uint32_t id) const {
  return Find(id) == nullptr ? UnknownWatchpoint(id) : absl::OkStatus();
}

const model::WatchpointSpec& WatchTable::SpecOf(uint32_t id) const {
  return entries_.at(id).spec;
}

uint32_t WatchTable::RevisionOf(uint32_t id) const {
  return static_cast<uint32_t>(entries_.at(id).conditions.size());
}

uint64_t WatchTable::NodeCountOf(uint32_t id) const {
  return entries_.at(id).node_count;
}

std::string WatchTable::ErrorOf(uint32_t id) const {
  std::string text;
  for (const auto& [rank, error] : entries_.at(id).errors) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "rank ", rank, ": ",
                    error);
  }
  return text;
}

ConditionPtr WatchTable::ConditionAt(uint32_t id, uint32_t revision) const {
  auto it = entries_.find(id);
  if (it == entries_.end() || revision == 0 ||
      revision > it->second.conditions.size()) {
    return nullptr;
  }
  return it->second.conditions[revision - 1];
}

bool WatchTable::SetError(uint32_t id, uint32_t revision, uint32_t rank,
                          std::string error) {
  Entry* entry = Find(id);
  if (entry == nullptr || revision != entry->conditions.size()) return false;
  if (error.empty()) return entry->errors.erase(rank) > 0;
  std::string& kept = entry->errors[rank];
  if (kept == error) return false;
  kept = std::move(error);
  return true;
}

bool WatchTable::Covers(uint32_t id, NodeIndex node) const {
  const Entry* entry = Find(id);
  return entry != nullptr && node < entry->covers.size() && entry->covers[node];
}

model::Watched WatchTable::WatchedOf(graph::Child child) const {
  if (!child.is_scope) {
    const bool watched =
        child.index < watchers_.size() && watchers_[child.index] > 0;
    return watched ? model::Watched::kAll : model::Watched::kNone;
  }
  const uint32_t watched =
      child.index < watched_below_.size() ? watched_below_[child.index] : 0;
  if (watched == 0) return model::Watched::kNone;
  return watched == graph_.scope(child.index).descendants
             ? model::Watched::kAll
             : model::Watched::kSome;
}

const WatchTable::Entry* WatchTable::Find(uint32_t id) const {
  auto it = entries_.find(id);
  return it == entries_.end() || it->second.removed ? nullptr : &it->second;
}

WatchTable::Entry* WatchTable::Find(uint32_t id) {
  return const_cast<Entry*>(std::as_const(*this).Find(id));
}

}  // namespace graphdbg::watch
