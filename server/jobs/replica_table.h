// Compares the tensors of which all ranks of a group have equal copies.
#ifndef SERVER_JOBS_REPLICA_TABLE_H_
#define SERVER_JOBS_REPLICA_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/graph/graph_store.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/rank.h"

namespace graphdbg::jobs {

// Ranks report digests of their copies. Once all ranks of a group have reported
// a moment, most of them are right: the others differ. If no value has a
// majority, all of them do.
//
// On the job's strand only. Memory is bounded: the earliest moments of a group
// are dropped if a rank does not report them, because it hashes less often.
class ReplicaTable {
 public:
  // Moments of a group that wait for ranks; groups.
  static constexpr size_t kMaxMoments = 16;
  static constexpr size_t kMaxGroups = 64;
  // Digests in the table.
  static constexpr size_t kMaxDigests = 4'000'000;

  explicit ReplicaTable(const graph::GraphStore& graph) : graph_(graph) {}

  // One rank that differs from others.
  struct Difference {
    uint32_t rank = 0;
    uint64_t step = 0;
    // That rank's id of the first tensor in which it differs.
    uint32_t node_id = 0;
    // Names the ranks and the tensors.
    std::string message;
  };

  // A rank reports. Returns the differences that the last comparison has not
  // found, in tensors that all ranks of the group have reported. A rank that
  // reports an earlier moment than before has started anew, and so does its
  // group.
  std::vector<Difference> Add(const Rank& rank, const ReplicaReport& report);

  // The digests that wait for other ranks.
  size_t digests() const { return digests_; }

 private:
  struct Replica {
    graph::NodeIndex node = graph::kNoNode;
    uint32_t node_id = 0;
    uint64_t digest = 0;
  };
  // What one rank has reported, ordered by node.
  struct Report {
    uint64_t step = 0;
    std::vector<Replica> replicas;
  };
  // By rank.
  using Moment = std::map<uint32_t, Report>;
  struct Group {
    std::map<uint64_t, Moment> moments;
    // By rank.
    std::map<uint32_t, uint64_t> newest;
    // The ranks that differed when the tensor was compared last.
    std::map<graph::NodeIndex, std::set<uint32_t>> differing;
  };

  void Drop(Group& group, std::map<uint64_t, Moment>::iterator moment);
  // Drops what waits longest, until the limits are kept.
  void MakeRoom(Group& group);
  // Null if it has not reported the tensor.
  static const Replica* Find(const Report& report, graph::NodeIndex node);
  static bool AllEqual(const Moment& moment);
  // The ranks that have each digest of a tensor; empty if a rank has none.
  static std::map<uint64_t, std::vector<uint32_t>> RanksByDigest(
      const Moment& moment, graph::NodeIndex node);
  std::vector<Difference> Compare(const Moment& moment, Group& group) const;

  const graph::GraphStore& graph_;
  std::map<std::string, Group> groups_;
  size_t digests_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_REPLICA_TABLE_H_
