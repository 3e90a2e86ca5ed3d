// One rank of a recorded run: its files, and what has been read from them.
#ifndef SERVER_RUNS_RANK_DATA_H_
#define SERVER_RUNS_RANK_DATA_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/runs/last_ops.h"
#include "server/base/memory_budget.h"
#include "server/graph/agent_ids.h"
#include "server/graph/graph_store.h"
#include "server/model/job.h"
#include "server/runs/messages.h"
#include "server/runs/rank_log.h"
#include "server/runs/run_info.h"
#include "server/runs/run_op_times.h"
#include "server/runs/step_index.h"
#include "server/runs/step_records.h"
#include "server/runs/tensor_files.h"
#include "server/runs/user_changes.h"
#include "server/watch/hit_log.h"

namespace graphdbg::recorded {

// Not thread safe.
class RankData {
 public:
  // `memory` may be null.
  RankData(uint32_t number, Folder folder,
           std::shared_ptr<MemoryBudget> memory);

  // Looks for what was written since the last call, without reading records.
  void Refresh();
  // Brings the index up to date with the log.
  void RefreshIndex();
  // Adds new nodes to the graph of the run.
  void ReadGraph(graph::GraphStore& graph);
  // Adds new hits. The graph must have been read.
  void ReadHits(watch::HitLog& hits);
  // With what is new. The graph must have been read.
  const jobs::OpTimeTable& ReadOpTimes();
  // What users have changed, with what is new.
  const std::vector<v1::UserChange>& ReadUserChanges();

  uint32_t number() const { return number_; }
  const RankInfo& info() const { return info_; }
  const RankLog& log() const { return log_; }
  const StepIndex& index() const { return index_; }
  TensorFiles& tensors() { return tensors_; }
  // Whether a process still records.
  bool alive() const { return alive_; }
  model::JobState state() const;
  // "exit", "exception", "terminated", "closed", "lost"; empty if alive.
  std::string ended() const;
  // The steps of the first and the last record, from a look at both ends.
  uint64_t first_step() const;
  uint64_t last_step() const;
  // The tensor's key in records. Absent nodes have id 0, which no record has.
  TensorKey KeyOf(graph::NodeIndex node, uint32_t slot);
  // kNoNode if this rank has not reported the node.
  graph::NodeIndex NodeOf(uint32_t id) const { return ids_.Find(id); }
  const graph::AgentIds& ids() const { return ids_; }
  // The node of the last record, which is the last op that was seen; kNoNode if
  // there is none.
  graph::NodeIndex LastNode() const;

  // The records of a step. Null if the step was not recorded.
  std::shared_ptr<const StepRecords> Records(uint64_t step);

  // The values of a tensor, named "node:slot", at a step; absent if they were
  // not saved, or are lost.
  absl::StatusOr<std::optional<TensorFiles::Found>> FindValues(
      uint64_t step, TensorKey key, const std::string& name);
  // The record of values that were saved at a step; absent if there is none.
  std::optional<runs::Record> SavedRecord(uint64_t step, TensorKey key);
  // The steps at which the values of a tensor were saved, ascending: of the
  // last kMaxSavedSteps steps at which any tensor was.
  static constexpr size_t kMaxSavedSteps = 400;
  std::vector<uint64_t> SavedSteps(TensorKey key);

  // The last ops of the threads, as runs::ReadLastOps reads them; empty if the
  // rank ended properly, or is not known to have executed anything.
  std::vector<runs::LastOp> LastOps();

  // Text of collections.jsonl; empty if there is none.
  std::string ReadCollections();

  // Damaged files, with their reason, by path.
  std::map<std::string, std::string> Damage() const;

 private:
  void ReadInfo();
  // Whether a process has the ring open.
  bool HoldsRing() const;
  std::optional<uint64_t> StepNear(uint64_t first, uint64_t count,
                                   bool last) const;
  // Adds the damage that a status describes.
  void AddDamage(const std::string& name, const absl::Status& status);

  const uint32_t number_;
  const Folder folder_;
  RankInfo info_;
  bool has_info_ = false;
  RankLog log_;
  StepIndex index_;
  TensorFiles tensors_;
  MessageFollower graph_file_;
  MessageFollower hits_file_;
  RunOpTimes op_times_;
  UserChanges user_changes_;
  graph::AgentIds ids_;
  // The inverse of ids_, for the nodes that it had when it was last asked.
  absl::flat_hash_map<graph::NodeIndex, uint32_t> numbers_;
  bool alive_ = false;
  // Newest first.
  std::list<std::shared_ptr<const StepRecords>> records_;
  std::map<std::string, std::string> damage_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RANK_DATA_H_
