// The watchpoints of one job: what is watched, for what, and which known nodes
// that covers.
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

// Not thread safe. Ids count from 1 and are never used again.
class WatchTable {
 public:
  // At one time; with those that were removed it is ten times as many.
  static constexpr size_t kMaxWatchpoints = 1'000;

  // The graph outlives the table.
  explicit WatchTable(const graph::GraphStore& graph) : graph_(graph) {}

  // INVALID_ARGUMENT with the field that is wrong, see ValidateSpec;
  // RESOURCE_EXHAUSTED "too_many_watchpoints".
  absl::StatusOr<uint32_t> Add(model::WatchpointSpec spec);
  // How many of the known nodes it would cover, whatever its condition's
  // parameters are. INVALID_ARGUMENT as Add.
  absl::StatusOr<uint64_t> CountOf(model::WatchpointSpec spec) const;
  // NOT_FOUND "unknown_watchpoint", or errors as Add.
  absl::Status Change(uint32_t id, const model::WatchpointChange& change);
  absl::Status Remove(uint32_t id);

  // What was known before, of a table without this revision: a watchpoint as
  // it was then, or null if it was removed. By id and revision, each from 1.
  // DATA_LOSS if it is not the next one, or of an unknown condition.
  absl::Status Restore(uint32_t id, uint32_t revision,
                       const model::WatchpointSpec* spec);

  // In order of their ids, without those that were removed.
  std::vector<uint32_t> Ids() const;
  std::vector<uint32_t> RemovedIds() const;
  // NOT_FOUND "unknown_watchpoint" if there is none or it was removed.
  absl::Status Check(uint32_t id) const;
  // These need Check(id) to be OK.
  const model::WatchpointSpec& SpecOf(uint32_t id) const;
  uint32_t RevisionOf(uint32_t id) const;
  uint64_t NodeCountOf(uint32_t id) const;
  std::string ErrorOf(uint32_t id) const;

  // The condition as it was at a revision, also of a watchpoint removed since;
  // null if there never was one.
  ConditionPtr ConditionAt(uint32_t id, uint32_t revision) const;

  // What a rank says of a watchpoint's present revision; an empty text takes
  // the error back. False if nothing changed.
  bool SetError(uint32_t id, uint32_t revision, uint32_t rank,
                std::string error);

  // Looks at the nodes that the graph got since the last call; returns the
  // watchpoints that now cover more.
  std::vector<uint32_t> MatchNewNodes();

  bool Covers(uint32_t id, graph::NodeIndex node) const;
  // By watchpoints that are enabled.
  model::Watched WatchedOf(graph::Child child) const;

 private:
  struct Entry {
    model::WatchpointSpec spec;
    conditions::NodeSelection selection;
    // One for each revision, from 1.
    std::vector<ConditionPtr> conditions;
    std::map<uint32_t, std::string> errors;
    std::vector<bool> covers;
    uint64_t node_count = 0;
    bool removed = false;
  };

  const Entry* Find(uint32_t id) const;
  Entry* Find(uint32_t id);
  void Install(Entry& entry, model::WatchpointSpec spec);
  void Match(Entry& entry, graph::NodeIndex from);
  // Sets entry.covers[node] and what hangs on it.
  void Cover(Entry& entry, graph::NodeIndex node);
  void CountWatchers(const Entry& entry, int by);
  void CountWatcher(graph::NodeIndex node, int by);

  const graph::GraphStore& graph_;
  std::map<uint32_t, Entry> entries_;
  size_t live_ = 0;
  // Nodes that were matched so far.
  graph::NodeIndex matched_ = 0;
  // Enabled watchpoints that cover a node.
  std::vector<uint32_t> watchers_;
  // Watched nodes below a scope.
  std::vector<uint32_t> watched_below_;
};

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_WATCH_TABLE_H_
