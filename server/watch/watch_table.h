// The watchpoints of one job and the known nodes that they cover.
#ifndef SERVER_WATCH_WATCH_TABLE_H_
#define SERVER_WATCH_WATCH_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/conditions/selector.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/watch.h"

namespace graphdbg::watch {

using ConditionPtr = std::shared_ptr<const model::Condition>;

// Ids start at 1 and are never reused. Not thread safe.
class WatchTable {
 public:
  // The limit at any time. Ten times as many may be created over time.
  static constexpr size_t kMaxWatchpoints = 1'000;
  // Agents may still report hits of this many earlier revisions.
  static constexpr uint32_t kSpareRevisions = 100;

  // The graph outlives the table.
  explicit WatchTable(const graph::GraphStore& graph) : graph_(graph) {}

  // Returns the id. INVALID_ARGUMENT as ValidateSpec; RESOURCE_EXHAUSTED
  // "too_many_watchpoints".
  absl::StatusOr<uint32_t> Add(model::WatchpointSpec spec);
  // What the watchpoint would cover of the known nodes. Ignores the parameters
  // of the condition. INVALID_ARGUMENT as ValidateSelection.
  absl::StatusOr<model::SelectionPreview> Preview(model::WatchpointSpec spec,
                                                  bool on_accelerator) const;
  // NOT_FOUND "unknown_watchpoint", or the errors of Add.
  absl::Status Change(uint32_t id, const model::WatchpointChange& change);
  absl::Status Remove(uint32_t id);

  // Undoes Remove, with a new revision.
  void Reinstate(uint32_t id);

  // Restore the newest revision of a watchpoint, or with a null `spec` its
  // removal, and the conditions of earlier revisions. DATA_LOSS if the revision
  // is not newer than those restored before or the condition is unknown.
  absl::Status Restore(uint32_t id, uint32_t revision,
                       const model::WatchpointSpec* spec);
  absl::Status RestoreCondition(uint32_t id, uint32_t revision,
                                const model::Condition& condition);

  // Ids of the watchpoints that exist, ascending.
  std::vector<uint32_t> Ids() const;
  std::vector<uint32_t> RemovedIds() const;
  // NOT_FOUND "unknown_watchpoint" if it does not exist or was removed.
  absl::Status Check(uint32_t id) const;
  // These require that the watchpoint exists or, except for SpecOf, existed.
  // Its removal has a revision of its own.
  const model::WatchpointSpec& SpecOf(uint32_t id) const;
  uint32_t RevisionOf(uint32_t id) const;
  uint64_t NodeCountOf(uint32_t id) const;
  std::string ErrorOf(uint32_t id) const;

  // The condition of a revision, also if the watchpoint has been removed since.
  // Null if the revision never existed or was pruned.
  ConditionPtr ConditionAt(uint32_t id, uint32_t revision) const;
  // A hit refers to this revision, which is therefore never pruned.
  void MarkMet(uint32_t id, uint32_t revision);
  // Drops the conditions of revisions that no hit refers to, except for the
  // newest kSpareRevisions. Returns the revisions.
  std::vector<uint32_t> Prune(uint32_t id);

  // Sets the error that a rank reports for the current revision of a
  // watchpoint; empty clears it. Returns false if nothing changed.
  bool SetError(uint32_t id, uint32_t revision, uint32_t rank,
                std::string error);

  // Matches the nodes added to the graph since the last call. Returns the ids
  // of the watchpoints that cover any of them.
  std::vector<uint32_t> MatchNewNodes();

  // Matches nodes again whose outputs have changed, with the watchpoints that
  // select types of tensors. Returns the ids of those that cover others now.
  std::vector<uint32_t> MatchAgain(const std::vector<graph::NodeIndex>& nodes);

  bool Covers(uint32_t id, graph::NodeIndex node) const;
  // Considers enabled watchpoints only.
  model::Watched WatchedOf(graph::Child child) const;

 private:
  struct PastCondition {
    ConditionPtr condition;
    // A hit refers to it.
    bool met = false;
  };

  struct Entry {
    model::WatchpointSpec spec;
    conditions::NodeMatcher matcher;
    // Only full names choose nodes, which are found faster than by matching.
    bool only_listed = false;
    // The newest revision; 0 before the first.
    uint32_t revision = 0;
    // By revision.
    std::map<uint32_t, PastCondition> conditions;
    std::map<uint32_t, std::string> errors;
    std::vector<bool> covers;
    uint64_t node_count = 0;
    bool removed = false;
  };

  // INVALID_ARGUMENT if the patterns of all watchpoints became too long by
  // giving the watchpoint `id` (0: a new one) this selection.
  absl::Status CheckAllPatterns(uint32_t id,
                                const model::Selection& selection) const;
  const Entry* Find(uint32_t id) const;
  Entry* Find(uint32_t id);
  absl::Status CheckRestored(uint32_t id, uint32_t revision,
                             const model::Condition* condition) const;
  void AddRevision(Entry& entry, uint32_t revision,
                   const model::Condition& condition);
  void Install(Entry& entry, uint32_t revision, model::WatchpointSpec spec);
  void Match(Entry& entry, graph::NodeIndex from);
  // Sets entry.covers[node] and updates the counts.
  void Cover(Entry& entry, graph::NodeIndex node);
  void CountWatchers(const Entry& entry, int by);
  void CountWatcher(graph::NodeIndex node, int by);

  const graph::GraphStore& graph_;
  std::map<uint32_t, Entry> entries_;
  size_t live_ = 0;
  // The number of nodes matched so far.
  graph::NodeIndex matched_ = 0;
  // By node: the number of enabled watchpoints that cover it.
  std::vector<uint32_t> watchers_;
  // By scope: the number of watched nodes in it.
  std::vector<uint32_t> watched_below_;
};

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_WATCH_TABLE_H_
