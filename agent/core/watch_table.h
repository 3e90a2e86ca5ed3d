// Which conditions are checked on which nodes.
#ifndef AGENT_CORE_WATCH_TABLE_H_
#define AGENT_CORE_WATCH_TABLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/conditions/predicate.h"
#include "agent/conditions/screen.h"
#include "agent/conditions/selector.h"
#include "agent/core/hit_limits.h"
#include "agent/core/line_runs.h"
#include "agent/core/node_table.h"
#include "agent/core/segmented_array.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

struct Watchpoint {
  uint32_t id;
  uint32_t revision;
  conditions::Predicate predicate;
  conditions::NodeMatcher matcher;
  size_t pattern_bytes = 0;
  v1::PauseMode pause;
  // The condition holds for NaN or infinities alone.
  bool only_nonfinite = false;
  // The id of the condition if the program reports it. No node is then tested.
  std::string reported_condition;
  // The step in which it could first not be tested because there was no
  // previous value (or no overflow flag); 0: none, kReported: the user was
  // notified.
  mutable std::atomic<uint64_t> first_missed_step{0};
  // With a condition on executions and lines of source code: which executions
  // begin a run of a line. Null: every execution counts.
  std::unique_ptr<LineRuns> line_runs;
  // The newest step with a hit, plus one; 0: none.
  mutable std::atomic<uint64_t> last_hit_step{0};

  static constexpr uint64_t kReported = UINT64_MAX;
};

// One state of the table. Its watchpoints, and the sets of known nodes, never
// change; nodes that are declared later are added.
class WatchSnapshot {
 public:
  // The watchpoints of one node, in the order of their ids.
  using Watchpoints = std::vector<const Watchpoint*>;
  struct Set {
    Watchpoints watchpoints;
    // The union of their needs.
    conditions::Needs needs;
    // Some condition is tested on tensors, or on the execution.
    bool tests_values = false;
    bool tests_execution = false;
    // Each condition holds for NaN or infinities alone.
    bool only_nonfinite = true;
    // Covers most conditions. If it rules them out, only the others have to be
    // tested.
    conditions::Screen screen;
    Watchpoints unscreened;

    // The watchpoints whose conditions may hold for the tensor.
    const Watchpoints& For(
        const conditions::TensorMeasurements& measurements) const {
      return screen.RulesOut(measurements) ? unscreened : watchpoints;
    }
  };

  // Null if no watchpoint covers the node. Takes no lock.
  const Set* On(uint32_t node) const {
    const auto* slot = sets_of_nodes_.Find(node);
    return slot == nullptr ? nullptr : slot->load(std::memory_order_acquire);
  }

  // The watchpoints of a condition that the program reports, in the order of
  // their ids.
  Watchpoints OnReported(absl::string_view condition) const;
  // Some watchpoint has a condition that the program reports.
  bool has_reported() const { return has_reported_; }

  bool empty() const { return watchpoints_.empty(); }
  // Some condition is tested on the values of nodes.
  bool tests_values() const { return tests_values_; }
  // All such conditions hold for NaN or infinities alone.
  bool only_nonfinite() const { return only_nonfinite_; }
  // Some such watchpoint stops the program when it hits.
  bool pauses() const { return pauses_; }
  // Some watchpoint covers every node.
  bool covers_all() const { return covers_all_; }
  // Some condition matches infinities.
  bool matches_infinities() const { return matches_infinities_; }
  // Some condition compares with the previous step.
  bool needs_previous() const { return needs_previous_; }

 private:
  friend class WatchTable;

  std::map<uint32_t, std::shared_ptr<const Watchpoint>> watchpoints_;
  bool tests_values_ = false;
  bool only_nonfinite_ = true;
  bool pauses_ = false;
  bool covers_all_ = false;
  bool matches_infinities_ = false;
  bool needs_previous_ = false;
  bool has_reported_ = false;
  // Most nodes share a few sets.
  std::map<Watchpoints, std::unique_ptr<const Set>> sets_;
  SegmentedArray<std::atomic<const Set*>> sets_of_nodes_;
};

// Any thread. Maintains the nodes' kWatched flags.
class WatchTable {
 public:
  // `nodes` must outlive the table. `program_reports`: the program tests the
  // conditions of training (graphdbg_report).
  explicit WatchTable(const NodeTable* nodes, bool program_reports = false);

  std::shared_ptr<const WatchSnapshot> snapshot() const {
    return std::atomic_load(&snapshot_);
  }
  // The same from a thread-local cache, so that threads do not contend for the
  // reference count. Valid until the next call on this thread.
  const WatchSnapshot& OnThisThread() const;

  // A snapshot of only those of the given watchpoints that are set and enabled.
  std::shared_ptr<const WatchSnapshot> SnapshotOf(
      const std::vector<uint32_t>& ids);

  // Sets a watchpoint, which replaces one with the same id. Returns how many
  // known nodes it covers (0 if it is not enabled), or why it cannot be
  // checked, in which case the earlier one is removed.
  absl::StatusOr<uint32_t> Set(const v1::SetWatchpoint& message);
  void Remove(uint32_t id);

  // A node was declared.
  void AddNode(uint32_t id);

  // Which hits count.
  HitLimits& limits() { return limits_; }

 private:
  // Whether the selection means something, and its patterns and those of all
  // others are short enough to be matched in the training process.
  absl::Status CheckSelection(const conditions::NodeSelection& selection) const
      GRAPHDBG_REQUIRES(mu_);
  // Builds and publishes a new snapshot. Returns how many known nodes the
  // watchpoint with this id covers.
  uint32_t Rebuild(uint32_t count_of_id) GRAPHDBG_REQUIRES(mu_);
  // Makes current_ visible to other threads.
  void Publish() GRAPHDBG_REQUIRES(mu_);
  // Adds the node to a snapshot. Null if no watchpoint covers it.
  const WatchSnapshot::Set* Match(WatchSnapshot* snapshot, uint32_t node) const
      GRAPHDBG_REQUIRES(mu_);

  // Whether the condition can be tested at all.
  absl::Status CheckReporter(const std::string& condition) const;

  const NodeTable* const nodes_;
  const bool program_reports_;
  HitLimits limits_;
  mutable Mutex mu_;
  // The enabled ones, by id.
  std::map<uint32_t, std::shared_ptr<const Watchpoint>> watchpoints_
      GRAPHDBG_GUARDED_BY(mu_);
  std::shared_ptr<WatchSnapshot> current_ GRAPHDBG_GUARDED_BY(mu_);
  // The same as current_. Accessed with atomic_load and atomic_store only.
  std::shared_ptr<const WatchSnapshot> snapshot_;
  // Differs for each snapshot of each table.
  std::atomic<uint64_t> version_{0};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_WATCH_TABLE_H_
