// The watchpoints of one training process: what the session wants, what the
// client has been told, and the commands that are still to be sent.
#ifndef SERVER_MINDSPORE_WATCH_DESK_H_
#define SERVER_MINDSPORE_WATCH_DESK_H_

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
#include "server/mindspore/node_book.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/watch_conditions.h"
#include "server/mindspore/wire_watchpoint.h"

namespace graphdbg::mindspore {

// Not thread safe. One watchpoint may take several numbers on the wire: for
// several conditions, or because its nodes do not fit into one message. Numbers
// count from 1; what was hit under one is known for ever.
class WatchDesk {
 public:
  // Clients receive at most 4 MiB.
  static constexpr size_t kMaxCommandBytes = 3'500'000;

  // The book outlives the desk.
  explicit WatchDesk(const NodeBook& book) : book_(book) {}

  void Configure(const Profile& profile, bool ascend);

  // UNIMPLEMENTED if the client cannot check it; then it is not sent, and what
  // the client had of it before is taken back.
  absl::Status Set(const jobs::SetWatchpointOrder& order);
  void Remove(uint32_t watchpoint);
  // The client keeps the node's tensors from the next step on.
  void Keep(const BookNode& node);

  // The graph has grown: selections may cover more.
  void MatchAgain();
  // The client has forgotten all.
  void ClientIsNew();
  // The session tells its watchpoints from the start: so many, at once. The
  // client forgets what is not among them.
  void SessionBegins(uint32_t coming);
  // The client is known to have these.
  void Restore(const std::map<int, WireWatchpoint>& known, int last_number);

  bool has_unsent() const { return !unsent_.empty(); }
  // The next command; from then on the client counts as having it. There has to
  // be one.
  debugger::SetCMD Next();

  // Null if the number was never given out.
  const WireWatchpoint* Find(int number) const;
  // What the client has, by number.
  std::map<int, WireWatchpoint> Known() const;
  int last_number() const { return last_number_; }

 private:
  // Of a watchpoint, or of the nodes to keep (kKeptNodes).
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
  void AddLeaf(const BookNode& node, std::set<std::string>& seen,
               Leaves& leaves) const;
  void Submit(Entry& entry, uint32_t watchpoint,
              const std::vector<WireCondition>& conditions,
              const Leaves& leaves);
  absl::Status Apply(Entry& entry);
  void RemoveStale();
  void Drop(uint32_t watchpoint);
  int NumberFor(Entry& entry, size_t position);
  void TakeBack(Entry& entry, size_t from);

  const NodeBook& book_;
  Profile profile_;
  bool ascend_ = false;
  std::map<uint32_t, Entry> entries_;
  std::set<uint32_t> kept_nodes_;
  // While the session tells its watchpoints: those that it has not told, and
  // how many are to come.
  std::set<uint32_t> stale_;
  uint32_t coming_ = 0;
  std::deque<Unsent> unsent_;
  int last_number_ = 0;
  std::map<int, WireWatchpoint> given_out_;
  std::set<int> client_has_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WATCH_DESK_H_
