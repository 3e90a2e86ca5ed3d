#include "agent/core/watch_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/conditions/selection_message.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

conditions::Target TargetOf(const std::string& condition) {
  const auto* const row = conditions::Find(condition);
  return row == nullptr ? conditions::Target() : conditions::TargetOf(*row);
}

bool IsReported(const std::string& id) {
  const conditions::Condition* const row = conditions::Find(id);
  return row != nullptr && row->reported_by_program();
}

bool HoldsOnlyForNonFinite(absl::string_view condition) {
  return condition == "nan" || condition == "inf" || condition == "overflow" ||
         condition == "tensor_overflow";
}

bool Covers(const WatchSnapshot::Set* set, uint32_t id) {
  return set != nullptr &&
         std::any_of(set->watchpoints.begin(), set->watchpoints.end(),
                     [id](const Watchpoint* w) { return w->id == id; });
}

}  // namespace

WatchSnapshot::Watchpoints WatchSnapshot::OnReported(
    absl::string_view condition) const {
  Watchpoints result;
  for (const auto& [id, watchpoint] : watchpoints_) {
    if (watchpoint->reported_condition == condition) {
      result.push_back(watchpoint.get());
    }
  }
  return result;
}

WatchTable::WatchTable(const NodeTable* nodes, bool program_reports)
    : nodes_(nodes),
      program_reports_(program_reports),
      current_(std::make_shared<WatchSnapshot>()) {
  Publish();
}

void WatchTable::Publish() {
  static std::atomic<uint64_t> versions{0};
  std::atomic_store(&snapshot_, std::shared_ptr<const WatchSnapshot>(current_));
  version_.store(++versions, std::memory_order_release);
}

const WatchSnapshot& WatchTable::OnThisThread() const {
  struct Seen {
    uint64_t version = 0;
    std::shared_ptr<const WatchSnapshot> snapshot;
  };
  thread_local Seen seen;
  const uint64_t version = version_.load(std::memory_order_acquire);
  if (seen.version != version) seen = {version, snapshot()};
  return *seen.snapshot;
}

std::shared_ptr<const WatchSnapshot> WatchTable::SnapshotOf(
    const std::vector<uint32_t>& ids) {
  MutexLock lock(&mu_);
  auto some = std::make_shared<WatchSnapshot>();
  for (uint32_t id : ids) {
    const auto it = watchpoints_.find(id);
    if (it != watchpoints_.end()) some->watchpoints_.insert(*it);
  }
  if (some->empty()) return some;
  some->tests_values_ = true;
  const uint32_t size = nodes_->size();
  for (uint32_t node = 1; node <= size; ++node) Match(some.get(), node);
  return some;
}

absl::StatusOr<uint32_t> WatchTable::Set(const v1::SetWatchpoint& message) {
  limits_.Set(message);
  MutexLock lock(&mu_);
  watchpoints_.erase(message.id());
  const v1::Condition& condition = message.condition();
  absl::StatusOr<conditions::Predicate> predicate = conditions::Compile(
      condition.id(),
      {{condition.params().begin(), condition.params().end()},
       {condition.text_params().begin(), condition.text_params().end()}});
  absl::Status status = predicate.status();
  if (status.ok() && watchpoints_.size() >= wire::kMaxWatchpoints) {
    status = wire::MakeError(
        absl::StatusCode::kResourceExhausted, "too_many_watchpoints",
        absl::StrCat("cannot add the watchpoint: the limit is ",
                     wire::kMaxWatchpoints, " enabled watchpoints"));
  }
  conditions::NodeSelection selection =
      conditions::FromMessage(message.selection());
  if (status.ok()) status = CheckSelection(selection);
  if (status.ok()) status = CheckReporter(condition.id());
  if (status.ok() && message.enabled()) {
    auto watchpoint = std::make_shared<Watchpoint>();
    watchpoint->id = message.id();
    watchpoint->revision = message.revision();
    watchpoint->predicate = *std::move(predicate);
    watchpoint->pattern_bytes = conditions::PatternBytes(selection);
    const bool on_lines =
        watchpoint->predicate.on_execution() && !selection.sources.empty();
    watchpoint->matcher =
        conditions::NodeMatcher(std::move(selection), TargetOf(condition.id()));
    if (on_lines) {
      watchpoint->line_runs =
          std::make_unique<LineRuns>(*nodes_, watchpoint->matcher);
    }
    watchpoint->pause = message.pause();
    watchpoint->only_nonfinite = HoldsOnlyForNonFinite(condition.id());
    if (IsReported(condition.id())) {
      watchpoint->reported_condition = condition.id();
    }
    watchpoints_[message.id()] = std::move(watchpoint);
  }
  const uint32_t count = Rebuild(message.id());
  RETURN_IF_ERROR(status);
  return count;
}

absl::Status WatchTable::CheckSelection(
    const conditions::NodeSelection& selection) const {
  RETURN_IF_ERROR(conditions::CheckEntries(selection));
  const size_t bytes = conditions::PatternBytes(selection);
  size_t all = bytes;
  for (const auto& [id, watchpoint] : watchpoints_) {
    all += watchpoint->pattern_bytes;
  }
  if (bytes <= conditions::kMaxSelectionPatternBytes &&
      all <= conditions::kMaxJobPatternBytes) {
    return absl::OkStatus();
  }
  return wire::MakeError(
      absl::StatusCode::kResourceExhausted, "patterns_too_long",
      absl::StrCat("the watchpoint's patterns have ", bytes,
                   " bytes, those of all watchpoints ", all,
                   "; the limits are ", conditions::kMaxSelectionPatternBytes,
                   " and ", conditions::kMaxJobPatternBytes));
}

absl::Status WatchTable::CheckReporter(const std::string& condition) const {
  if (program_reports_ || !IsReported(condition)) return absl::OkStatus();
  return wire::MakeError(
      absl::StatusCode::kUnimplemented, "unsupported_condition",
      absl::StrCat("\"", condition,
                   "\" is tested in PyTorch programs in Python only"));
}

void WatchTable::Remove(uint32_t id) {
  limits_.Remove(id);
  MutexLock lock(&mu_);
  if (watchpoints_.erase(id) > 0) Rebuild(0);
}

void WatchTable::AddNode(uint32_t id) {
  MutexLock lock(&mu_);
  if (!current_->tests_values()) return;
  nodes_->Facts(id)->Set(kWatched, Match(current_.get(), id) != nullptr);
}

uint32_t WatchTable::Rebuild(uint32_t count_of_id) {
  auto next = std::make_shared<WatchSnapshot>();
  next->watchpoints_ = watchpoints_;
  for (const auto& [id, watchpoint] : watchpoints_) {
    if (!watchpoint->reported_condition.empty()) {
      next->has_reported_ = true;
      continue;
    }
    next->tests_values_ = true;
    next->only_nonfinite_ &= watchpoint->only_nonfinite;
    next->pauses_ |= watchpoint->pause != v1::PAUSE_MODE_NONE;
    const conditions::NodeMatcher& matcher = watchpoint->matcher;
    next->covers_all_ |= matcher.selects_everything();
    next->matches_infinities_ |= watchpoint->predicate.matches_infinities();
    next->needs_previous_ |= watchpoint->predicate.needs().previous;
  }
  const uint32_t size = nodes_->size();
  uint32_t count = 0;
  if (!next->empty()) {
    for (uint32_t node = 1; node <= size; ++node) {
      count += Covers(Match(next.get(), node), count_of_id) ? 1 : 0;
    }
  }
  current_ = next;
  Publish();
  // After publishing, so that threads find the sets of nodes that are flagged.
  for (uint32_t node = 1; node <= size; ++node) {
    nodes_->Facts(node)->Set(kWatched, next->On(node) != nullptr);
  }
  return count;
}

const WatchSnapshot::Set* WatchTable::Match(WatchSnapshot* snapshot,
                                            uint32_t node) const {
  const NodeTable::Info info = nodes_->InfoOf(node);
  const conditions::NodeDescription description = info.description();
  auto set = std::make_unique<WatchSnapshot::Set>();
  for (const auto& [id, watchpoint] : snapshot->watchpoints_) {
    if (watchpoint->reported_condition.empty() &&
        (watchpoint->line_runs != nullptr
             ? watchpoint->line_runs->Executes(node)
             : watchpoint->matcher.Matches(description))) {
      const bool on_execution = watchpoint->predicate.on_execution();
      set->tests_execution |= on_execution;
      set->tests_values |= !on_execution;
      set->only_nonfinite &= watchpoint->only_nonfinite;
      set->watchpoints.push_back(watchpoint.get());
      set->needs.Add(watchpoint->predicate.needs());
      if (!set->screen.Add(watchpoint->predicate)) {
        set->unscreened.push_back(watchpoint.get());
      }
    }
  }
  if (set->watchpoints.empty()) return nullptr;
  auto it = snapshot->sets_.find(set->watchpoints);
  if (it == snapshot->sets_.end()) {
    WatchSnapshot::Watchpoints key = set->watchpoints;
    it = snapshot->sets_.emplace(std::move(key), std::move(set)).first;
  }
  snapshot->sets_of_nodes_.Grow(node).store(it->second.get(),
                                            std::memory_order_release);
  return it->second.get();
}

}  // namespace graphdbg::agent
