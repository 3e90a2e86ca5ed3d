// Checks a condition over what a run has recorded, in the background.
#ifndef SERVER_RUNS_CHECK_H_
#define SERVER_RUNS_CHECK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/conditions/predicate.h"
#include "agent/conditions/selector.h"
#include "server/graph/graph_store.h"
#include "server/model/run.h"
#include "server/runs/background_check.h"
#include "server/watch/watch_table.h"

namespace graphdbg::recorded {

// A node that is checked, as hits describe it.
struct CheckedNode {
  std::string name;
  std::string op_type;
  std::vector<model::Output> outputs;
  std::shared_ptr<const model::SourceLine> source;
};

// The node as hits describe it.
CheckedNode CheckedNodeOf(const graph::GraphStore& graph,
                          graph::NodeIndex index);

// A check of one condition.
class Check final : public BackgroundCheck {
 public:
  // More hits are only counted.
  static constexpr size_t kMaxHits = 10'000;

  Check(conditions::Predicate predicate, conditions::NodeMatcher matcher,
        std::shared_ptr<const model::Condition> condition)
      : predicate_(std::move(predicate)),
        matcher_(std::move(matcher)),
        condition_(std::move(condition)) {}

  // Adds a task, which usually covers one rank.
  void AddTask(uint64_t steps, std::function<void(Check&)> task);
  model::CheckReport Report() const override ABSL_LOCKS_EXCLUDED(mu_);

  // --- For tasks ------------------------------------------------------------
  const conditions::Predicate& predicate() const { return predicate_; }
  // Whether tensors of this type are checked.
  bool ChecksType(DType dtype) const { return matcher_.MatchesType(dtype); }
  const std::shared_ptr<const model::Condition>& condition() const {
    return condition_;
  }
  // A tensor that could not be checked.
  void NotRecorded() { ++not_recorded_; }
  void AddHit(model::CheckHit hit) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const conditions::Predicate predicate_;
  const conditions::NodeMatcher matcher_;
  const std::shared_ptr<const model::Condition> condition_;
  std::atomic<uint64_t> not_recorded_{0};

  mutable absl::Mutex mu_;
  std::vector<model::CheckHit> hits_ ABSL_GUARDED_BY(mu_);
  uint64_t hit_count_ ABSL_GUARDED_BY(mu_) = 0;
};

// A check without tasks yet, and the nodes that it covers.
class CheckedNodes {
 public:
  // INVALID_ARGUMENT as for a watchpoint of a job, or if the condition is on
  // executions, which are not recorded.
  static absl::StatusOr<CheckedNodes> Find(const graph::GraphStore& graph,
                                           const model::CheckSpec& spec);

  const std::shared_ptr<Check>& check() const { return check_; }
  bool Covers(graph::NodeIndex node) const { return table_.Covers(id_, node); }

 private:
  CheckedNodes(std::shared_ptr<Check> check, watch::WatchTable table,
               uint32_t id)
      : check_(std::move(check)), table_(std::move(table)), id_(id) {}

  std::shared_ptr<Check> check_;
  watch::WatchTable table_;
  uint32_t id_;
};

// Whether the spec, and the selection in it, ask for this rank.
bool Wants(const model::CheckSpec& spec, uint32_t rank);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_CHECK_H_
