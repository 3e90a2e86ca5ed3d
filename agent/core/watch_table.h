// Which conditions are checked on which nodes.
#ifndef AGENT_CORE_WATCH_TABLE_H_
#define AGENT_CORE_WATCH_TABLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/conditions/predicate.h"
#include "agent/conditions/selector.h"
#include "agent/core/node_table.h"
#include "agent/core/segmented_array.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

struct Watchpoint {
  uint32_t id;
  uint32_t revision;
  conditions::Predicate predicate;
  conditions::NodeSelection selection;
  v1::PauseMode pause;
  // When it could first not be tested for want of a previous value (or of an
  // overflow flag); 0: never, kReported: the user was told.
  mutable std::atomic<uint64_t> first_missed_step{0};

  static constexpr uint64_t kReported = UINT64_MAX;
};

// One state of the table. Watchpoints and what covers a known node never
// change; nodes that become known are added.
class WatchSnapshot {
 public:
  // The watchpoints of one node, in the order of their ids.
  using Watchpoints = std::vector<const Watchpoint*>;
  struct Set {
    Watchpoints watchpoints;
    // Of all of them together.
    conditions::Needs needs;
  };

  // Null if nothing watches the node. No lock.
  const Set* On(uint32_t node) const {
    const auto* slot = sets_of_nodes_.Find(node);
    return slot == nullptr ? nullptr : slot->load(std::memory_order_acquire);
  }

  bool empty() const { return watchpoints_.empty(); }
  // Some watchpoint stops the program when it hits.
  bool pauses() const { return pauses_; }
  // Some watchpoint covers every node.
  bool covers_all() const { return covers_all_; }
  // Some condition is met by infinities.
  bool matches_infinities() const { return matches_infinities_; }
  // Some condition compares with the step before.
  bool needs_previous() const { return needs_previous_; }

 private:
  friend class WatchTable;

  std::map<uint32_t, std::shared_ptr<const Watchpoint>> watchpoints_;
  bool pauses_ = false;
  bool covers_all_ = false;
  bool matches_infinities_ = false;
  bool needs_previous_ = false;
  // Most nodes share a few sets.
  std::map<Watchpoints, std::unique_ptr<const Set>> sets_;
  SegmentedArray<std::atomic<const Set*>> sets_of_nodes_;
};

// Any thread. Keeps the nodes' kWatched flags.
class WatchTable {
 public:
  // `nodes` must outlive the table.
  explicit WatchTable(const NodeTable* nodes);

  std::shared_ptr<const WatchSnapshot> snapshot() const {
    return std::atomic_load(&snapshot_);
  }
  // The same without touching what other threads touch. Valid until the next
  // call on this thread.
  const WatchSnapshot& OnThisThread() const;

  // A table of these watchpoints alone, as far as they are set and enabled.
  std::shared_ptr<const WatchSnapshot> SnapshotOf(
      const std::vector<uint32_t>& ids);

  // How many known nodes it covers (0 if it is not enabled), or why it cannot
  // be checked, in which case an older one of the same id is gone.
  absl::StatusOr<uint32_t> Set(const v1::SetWatchpoint& message);
  void Remove(uint32_t id);

  // A node was declared.
  void AddNode(uint32_t id);

 private:
  // With mu_ held.
  uint32_t Rebuild(uint32_t count_of_id);
  // current_ becomes what others see.
  void Publish();
  const WatchSnapshot::Set* Match(WatchSnapshot* snapshot, uint32_t node) const;

  const NodeTable* const nodes_;
  std::mutex mu_;
  // Guarded by mu_; those that are enabled.
  std::map<uint32_t, std::shared_ptr<const Watchpoint>> watchpoints_;
  // Written with mu_ held, read with atomic_load.
  std::shared_ptr<WatchSnapshot> current_;
  std::shared_ptr<const WatchSnapshot> snapshot_;
  // Another number for each snapshot of each table.
  std::atomic<uint64_t> version_{0};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_WATCH_TABLE_H_
