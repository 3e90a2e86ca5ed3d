// How long the ops of a rank took in some steps.
#ifndef SERVER_JOBS_OP_TIME_TABLE_H_
#define SERVER_JOBS_OP_TIME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/graph_store.h"
#include "server/model/overview.h"

namespace graphdbg::jobs {

// Not thread-safe.
class OpTimeTable {
 public:
  static constexpr size_t kMaxNewest = 16;
  static constexpr size_t kMaxThinnedOut = 64;
  // Which steps are kept when there are too many: the newest, or, all over the
  // run, every second, fourth, … of those that were added.
  enum class WhenFull { kDropOldest, kThinOut };

  explicit OpTimeTable(WhenFull when_full = WhenFull::kDropOldest)
      : thins_out_(when_full == WhenFull::kThinOut) {}

  struct Op {
    graph::NodeIndex node = graph::kNoNode;
    uint32_t thread = 0;
    uint64_t start_ns = 0;
    uint64_t duration_ns = 0;
  };
  struct Step {
    uint64_t step = 0;
    uint64_t duration_ns = 0;
    uint64_t left_out = 0;
    // In any order.
    std::vector<Op> ops;
  };

  // Replaces the step if it is there already. A step that is earlier than the
  // newest one begins anew: the process has started again.
  void Add(Step step);

  // Of a step, or of the newest one; nothing if none was timed. `graph` is the
  // one that the nodes are of. NOT_FOUND "unknown_step" names those that are
  // there.
  absl::StatusOr<model::OverviewOps> OpsOf(
      std::optional<uint64_t> step, const graph::GraphStore& graph) const;
  // Null if the step is not kept. Valid until the next Add.
  const Step* Find(uint64_t step) const;
  uint64_t bytes() const;

 private:
  void ThinOut();

  bool thins_out_;
  // Steps that were added, and every how many of them one is kept: a power of
  // two.
  uint64_t added_ = 0;
  uint64_t stride_ = 1;
  std::deque<Step> steps_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_OP_TIME_TABLE_H_
