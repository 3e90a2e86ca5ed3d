// Checks a condition over what a run has recorded, in the background.
#ifndef SERVER_RUNS_CHECK_H_
#define SERVER_RUNS_CHECK_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/conditions/predicate.h"
#include "server/model/run.h"
#include "server/runs/rank_data.h"
#include "server/runs/recording.h"

namespace graphdbg::recorded {

// A node that is checked, as hits describe it.
struct CheckedNode {
  std::string name;
  std::string op_type;
  std::vector<model::Output> outputs;
  std::shared_ptr<const model::SourceLine> source;
};

// Copies of what a check reads of one rank, so that the run can be read and
// followed meanwhile.
struct CheckedRank {
  uint32_t rank = 0;
  RankLog log;
  TensorFiles tensors;
  std::vector<StepEntry> steps;
  std::vector<CheckedNode> nodes;
  // By the process's id, which are dense: places in `nodes` plus one, 0 for
  // nodes that are not checked.
  std::vector<uint32_t> places;

  void Add(uint32_t id, CheckedNode node) {
    if (id >= places.size()) places.resize(id + 1);
    nodes.push_back(std::move(node));
    places[id] = static_cast<uint32_t>(nodes.size());
  }
  // Null if the node is not checked.
  const CheckedNode* Find(uint32_t id) const {
    if (id >= places.size() || places[id] == 0) return nullptr;
    return &nodes[places[id] - 1];
  }
};

// Thread-safe. Owned by whoever asks for its report, and by its tasks.
class Check : public std::enable_shared_from_this<Check> {
 public:
  // More hits are only counted.
  static constexpr size_t kMaxHits = 10'000;

  // Prepares a check of `spec`. INVALID_ARGUMENT as for a watchpoint of a job;
  // NOT_FOUND "unknown_rank".
  static absl::StatusOr<std::shared_ptr<Check>> Prepare(
      Recording& recording, const model::CheckSpec& spec);

  // Checks each rank in a task of its own.
  void Start(boost::asio::any_io_executor executor);
  // Returns soon; the tasks end after the step that they are at.
  void Cancel() { cancelled_ = true; }
  model::CheckReport Report() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class RankTask;

  Check(conditions::Predicate predicate,
        std::shared_ptr<const model::Condition> condition)
      : predicate_(std::move(predicate)), condition_(std::move(condition)) {}

  void AddHit(model::CheckHit hit) ABSL_LOCKS_EXCLUDED(mu_);

  const conditions::Predicate predicate_;
  const std::shared_ptr<const model::Condition> condition_;
  std::vector<CheckedRank> ranks_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> done_{0};
  uint64_t total_ = 0;
  std::atomic<size_t> running_{0};
  std::atomic<uint64_t> not_recorded_{0};

  mutable absl::Mutex mu_;
  std::vector<model::CheckHit> hits_ ABSL_GUARDED_BY(mu_);
  uint64_t hit_count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_CHECK_H_
