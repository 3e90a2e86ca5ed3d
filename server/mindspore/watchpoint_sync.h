// Synchronizes the watchpoints of a job with a training process: the
// watchpoints of the job, those that the client has, and the commands that have
// not been sent yet.
#ifndef SERVER_MINDSPORE_WATCHPOINT_SYNC_H_
#define SERVER_MINDSPORE_WATCHPOINT_SYNC_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_table.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/watch_conditions.h"
#include "server/mindspore/wire_watchpoint.h"

namespace graphdbg::mindspore {

// Not thread-safe. One watchpoint may need several numbers on the wire, because
// it has several conditions or because its nodes do not fit into one message.
// Numbers start at 1 and are never reused, so that hits can always be resolved.
class WatchpointSync {
 public:
  // Clients accept messages of up to 4 MiB.
  static constexpr size_t kMaxCommandBytes = 3'500'000;

  // `nodes` must outlive this object.
  explicit WatchpointSync(const NodeTable& nodes) : nodes_(nodes) {}

  void Configure(const Profile& profile, bool ascend);

  // UNIMPLEMENTED if the client cannot check the watchpoint. An earlier version
  // of it is then removed from the client.
  absl::Status Set(const jobs::SetWatchpointOrder& order);
  void Remove(uint32_t watchpoint);
  // Makes the client keep the node's tensors from the next step on.
  void Keep(const NodeEntry& node);

  // Call it after the graph has grown: selections may match more nodes.
  void UpdateSelections();
  // The client has lost all watchpoints.
  void OnClientReset();
  // The job will now send all of its watchpoints, `count` in number. All others
  // are then removed from the client.
  void BeginSync(uint32_t count);
  // Restores the watchpoints that the client has.
  void Restore(const std::map<int, WireWatchpoint>& known, int last_number);

  bool has_unsent() const { return !unsent_.empty(); }
  // Returns the next command and assumes that the client will receive it.
  // Requires has_unsent().
  debugger::SetCMD Next();

  // Null if the number was never assigned.
  const WireWatchpoint* Find(int number) const;
  // The client's watchpoints, keyed by number.
  std::map<int, WireWatchpoint> Known() const;
  int last_number() const { return last_number_; }

 private:
  // A watchpoint, or the nodes whose tensors the client keeps (kKeptNodes).
  struct Entry {
    jobs::SetWatchpointOrder order;
    std::vector<int> numbers;
  };
  struct Unsent {
    WireWatchpoint about;
    debugger::SetCMD command;
  };
  using Leaves = std::vector<debugger::WatchNode>;

  static constexpr uint32_t kKeptNodes = 0;

  Leaves Expand(const model::WatchpointSpec& spec) const;
  Leaves KeptLeaves() const;
  void AddLeaf(const NodeEntry& node, std::set<std::string>& seen,
               Leaves& leaves) const;
  void Submit(Entry& entry, uint32_t watchpoint,
              const std::vector<WireCondition>& conditions,
              const Leaves& leaves);
  absl::Status Apply(Entry& entry);
  void RemoveStale();
  void Drop(uint32_t watchpoint);
  int NumberFor(Entry& entry, size_t position);
  void RemoveFromClient(Entry& entry, size_t from);

  const NodeTable& nodes_;
  Profile profile_;
  bool ascend_ = false;
  std::map<uint32_t, Entry> entries_;
  std::set<uint32_t> kept_nodes_;
  // During a synchronization: watchpoints that the job has not sent yet, and
  // the number of watchpoints that it will still send.
  std::set<uint32_t> stale_;
  uint32_t expected_ = 0;
  std::deque<Unsent> unsent_;
  int last_number_ = 0;
  std::map<int, WireWatchpoint> assigned_;
  std::set<int> on_client_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WATCHPOINT_SYNC_H_
