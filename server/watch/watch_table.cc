#include "server/watch/watch_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/watch/coverage.h"
#include "server/watch/validation.h"

namespace graphdbg::watch {
namespace {

using graph::NodeIndex;
using graph::ScopeIndex;

// Users may write "a/b/" for the scope "a/b".
void Normalize(model::Selection& selection) {
  for (auto* scopes : {&selection.scopes, &selection.exclude.scopes}) {
    for (std::string& scope : *scopes) {
      while (scope.size() > 1 && scope.back() == '/') scope.pop_back();
    }
  }
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
  const uint32_t id = entries_.empty() ? 1 : entries_.rbegin()->first + 1;
  Install(entries_[id], 1, std::move(spec));
  ++live_;
  return id;
}

absl::StatusOr<model::SelectionPreview> WatchTable::Preview(
    model::WatchpointSpec spec, bool on_accelerator) const {
  Normalize(spec.selection);
  RETURN_IF_ERROR(ValidateSelection(spec, graph_));
  return PreviewOf(spec, graph_, on_accelerator);
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
  if (change.once) spec.once = *change.once;
  if (change.ignore_count) spec.ignore_count = *change.ignore_count;
  if (change.muted_until_step) spec.muted_until_step = *change.muted_until_step;
  if (change.group) spec.group = *change.group;
  if (change.actions) spec.actions = *change.actions;
  Normalize(spec.selection);
  RETURN_IF_ERROR(ValidateSpec(spec, graph_));
  RETURN_IF_ERROR(CheckAllPatterns(id, spec.selection));
  MatchNewNodes();
  CountWatchers(*entry, -1);
  Install(*entry, entry->revision + 1, std::move(spec));
  return absl::OkStatus();
}

absl::Status WatchTable::CheckAllPatterns(
    uint32_t id, const model::Selection& selection) const {
  const size_t own = conditions::PatternBytes(selection);
  size_t all = own;
  for (const auto& [other, entry] : entries_) {
    if (other != id && !entry.removed)
      all += conditions::PatternBytes(entry.spec.selection);
  }
  // Selections without patterns are always possible.
  if (own == 0 || all <= conditions::kMaxJobPatternBytes) {
    return absl::OkStatus();
  }
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_watchpoint",
            absl::StrCat(
                "the patterns and regular expressions of all watchpoints "
                "of the job have ",
                all, " bytes; the limit is ", conditions::kMaxJobPatternBytes)),
      "patterns");
}

absl::Status WatchTable::Remove(uint32_t id) {
  Entry* entry = Find(id);
  if (entry == nullptr) return UnknownWatchpoint(id);
  CountWatchers(*entry, -1);
  entry->removed = true;
  ++entry->revision;
  entry->covers = {};
  entry->errors.clear();
  --live_;
  return absl::OkStatus();
}

void WatchTable::Reinstate(uint32_t id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || !it->second.removed) return;
  MatchNewNodes();
  Entry& entry = it->second;
  entry.removed = false;
  ++live_;
  Install(entry, entry.revision + 1, model::WatchpointSpec(entry.spec));
}

absl::Status WatchTable::Restore(uint32_t id, uint32_t revision,
                                 const model::WatchpointSpec* spec) {
  if (spec == nullptr) {
    RETURN_IF_ERROR(CheckRestored(id, revision, nullptr));
    Entry& entry = entries_[id];
    entry.revision = revision;
    entry.removed = true;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRestored(id, revision, &spec->condition));
  MatchNewNodes();
  ++live_;
  Install(entries_[id], revision, *spec);
  return absl::OkStatus();
}

absl::Status WatchTable::RestoreCondition(uint32_t id, uint32_t revision,
                                          const model::Condition& condition) {
  RETURN_IF_ERROR(CheckRestored(id, revision, &condition));
  Entry& entry = entries_[id];
  // Until the newest revision has been restored there is no watchpoint.
  entry.removed = true;
  AddRevision(entry, revision, condition);
  return absl::OkStatus();
}

absl::Status WatchTable::CheckRestored(
    uint32_t id, uint32_t revision, const model::Condition* condition) const {
  const auto known = entries_.find(id);
  const uint32_t newest = known == entries_.end() ? 0 : known->second.revision;
  const char* problem = nullptr;
  if (id == 0 || revision <= newest) problem = "out of order";
  if (condition != nullptr && conditions::Find(condition->id) == nullptr) {
    problem = "has an unknown condition";
  }
  if (problem == nullptr) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("watchpoint ", id, ", revision ", revision, ": ", problem));
}

void WatchTable::AddRevision(Entry& entry, uint32_t revision,
                             const model::Condition& condition) {
  // Most changes leave the condition as it is.
  ConditionPtr shared;
  if (!entry.conditions.empty()) {
    const ConditionPtr& last = entry.conditions.rbegin()->second.condition;
    const bool same = last->id == condition.id &&
                      last->params == condition.params &&
                      last->text_params == condition.text_params;
    if (same) shared = last;
  }
  if (shared == nullptr) {
    shared = std::make_shared<const model::Condition>(condition);
  }
  entry.revision = revision;
  entry.conditions[revision] = {std::move(shared), false};
}

void WatchTable::Install(Entry& entry, uint32_t revision,
                         model::WatchpointSpec spec) {
  entry.removed = false;
  entry.spec = std::move(spec);
  entry.only_listed = entry.spec.selection.only_listed();
  entry.matcher = MatcherOf(entry.spec);
  AddRevision(entry, revision, entry.spec.condition);
  entry.errors.clear();
  entry.covers.assign(matched_, false);
  entry.node_count = 0;
  if (!entry.only_listed) return Match(entry, 0);
  for (const std::string& name : entry.spec.selection.nodes) {
    const NodeIndex node = graph_.FindNode(name);
    if (node != graph::kNoNode && !entry.covers[node] &&
        watch::Covers(entry.matcher, graph_, node)) {
      Cover(entry, node);
    }
  }
}

void WatchTable::Match(Entry& entry, NodeIndex from) {
  entry.covers.resize(matched_, false);
  if (entry.only_listed) return;
  for (NodeIndex i = from; i < matched_; ++i) {
    if (watch::Covers(entry.matcher, graph_, i)) Cover(entry, i);
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

std::vector<uint32_t> WatchTable::MatchAgain(
    const std::vector<NodeIndex>& nodes) {
  std::vector<uint32_t> changed;
  for (auto& [id, entry] : entries_) {
    if (entry.removed || entry.matcher.selects_all_types()) continue;
    const uint64_t count = entry.node_count;
    for (const NodeIndex node : nodes) {
      if (node >= matched_) continue;
      const bool covers = watch::Covers(entry.matcher, graph_, node);
      if (covers == entry.covers[node]) continue;
      if (covers) {
        Cover(entry, node);
      } else {
        entry.covers[node] = false;
        --entry.node_count;
        if (entry.spec.enabled) CountWatcher(node, -1);
      }
    }
    if (entry.node_count != count) changed.push_back(id);
  }
  return changed;
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
  return entries_.at(id).revision;
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
  if (it == entries_.end()) return nullptr;
  auto condition = it->second.conditions.find(revision);
  return condition == it->second.conditions.end() ? nullptr
                                                  : condition->second.condition;
}

void WatchTable::MarkMet(uint32_t id, uint32_t revision) {
  auto it = entries_.find(id);
  if (it == entries_.end()) return;
  auto condition = it->second.conditions.find(revision);
  if (condition != it->second.conditions.end()) condition->second.met = true;
}

std::vector<uint32_t> WatchTable::Prune(uint32_t id) {
  std::vector<uint32_t> pruned;
  Entry& entry = entries_.at(id);
  auto it = entry.conditions.begin();
  while (it != entry.conditions.end() &&
         it->first + kSpareRevisions < entry.revision) {
    if (it->second.met) {
      ++it;
    } else {
      pruned.push_back(it->first);
      it = entry.conditions.erase(it);
    }
  }
  return pruned;
}

bool WatchTable::SetError(uint32_t id, uint32_t revision, uint32_t rank,
                          std::string error) {
  Entry* entry = Find(id);
  if (entry == nullptr || revision != entry->revision) return false;
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
