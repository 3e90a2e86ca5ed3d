// Infinities of which it is not known yet whether any result depends on them.
#ifndef AGENT_CORE_UNDECIDED_INFINITIES_H_
#define AGENT_CORE_UNDECIDED_INFINITIES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/core/checker.h"
#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// log(0) in a branch that torch.where discards is an infinity that reaches no
// result. So a hit by infinities waits for the ops that read the tensor:
//
// - An op with finite outputs, or integers, absorbs the infinities. The hit
//   is reported as absorbed when the step ends, unless another op decides
//   otherwise before.
// - An op that returns the infinities as they are (a view, a conversion, a
//   product with a constant: no larger a share of its elements is infinite)
//   leaves the decision to the readers of its output. Its own hit shares the
//   fate of the first.
// - Any other op with NaN or infinities in its outputs makes the hit stand, and
//   so does an optimizer. The program stops there.
//
// - If the backward op of a node that made or passed on the infinities has NaN
//   or infinities in its outputs, the hit remains as well: log(0) makes 0 * 1/0
//   of the zeros that torch.where passes back to it.
//
// Tensors that nothing has read when a backward pass or the optimizer begins,
// or when the step ends, are results: their hits stand, too. Comparisons
// (isfinite) and ops that only use a tensor's shape (zeros_like) do not count
// as readers.
//
// Any thread. Unless something waits, costs one load per execution.
class UndecidedInfinities {
 public:
  // Both must outlive this. `devices` may be null if all tensors are in host
  // memory.
  UndecidedInfinities(const NodeTable* nodes, Devices* devices)
      : nodes_(nodes), devices_(devices) {}

  // Whether executions have to be passed to Executed even if nothing hit.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // Whether one of them would stop the program.
  bool any_stops() GRAPHDBG_EXCLUDES(mu_);

  // An execution was checked. Takes its undecided hits from `findings`, and
  // adds the hits and stops that it has decided. `measured`, if not null, has
  // the statistics of the outputs, whose values then no longer exist.
  void Executed(const Execution& execution, const ExecutionPoint& point,
                const std::vector<std::optional<Statistics>>* measured,
                Findings* findings) GRAPHDBG_EXCLUDES(mu_);

  // Decides all that still wait, because the step ends or the program stops.
  void EndStep(Findings* findings) GRAPHDBG_EXCLUDES(mu_);

 private:
  // A tensor that contains the infinities.
  struct Carrier {
    uint32_t node;
    uint32_t slot;
    uint64_t storage;
    double share;
    // Made by the forward pass.
    bool forward;
    bool read = false;
  };
  // An infinity with what came of it.
  struct Entry {
    std::vector<UndecidedHit> hits;
    std::vector<Carrier> carriers;
  };
  struct Outcome;
  // The carriers that an execution reads, and the numbers of their entries.
  struct Reading {
    std::vector<Carrier*> carriers;
    std::set<uint64_t> entries;
    // The share of infinities in inputs that can no longer be read.
    double share = 0;
  };

  Outcome Measure(const Execution& execution, const ExecutionPoint& point,
                  const std::vector<std::optional<Statistics>>* measured) const;
  // Whether the node's outputs depend on the values of its inputs.
  bool ReadsValues(uint32_t node) const;
  // `measured`: inputs can no longer be read.
  Reading Read(const Execution& execution, const ExecutionPoint& point,
               bool measured) GRAPHDBG_REQUIRES(mu_);
  // Whether infinities in the outputs, of this share, are those of the inputs.
  bool PassesOn(const Execution& execution, const ExecutionPoint& point,
                bool measured, double share, const Reading& reading) const
      GRAPHDBG_REQUIRES(mu_);
  // The outputs of an execution carry the infinities, too.
  void Extend(const Execution& execution, const Outcome& outcome, bool forward,
              Findings* findings, Entry* entry) GRAPHDBG_REQUIRES(mu_);
  // The entries with a carrier that was made by this node.
  std::set<uint64_t> MadeBy(uint32_t node) const GRAPHDBG_REQUIRES(mu_);
  // Makes one entry of several; returns its number.
  uint64_t Merge(const std::set<uint64_t>& numbers) GRAPHDBG_REQUIRES(mu_);
  // The entries with a tensor of the forward pass that nothing has read.
  std::set<uint64_t> UnreadResults() const GRAPHDBG_REQUIRES(mu_);
  void Stand(const std::set<uint64_t>& entries, Findings* findings)
      GRAPHDBG_REQUIRES(mu_);
  // Has infinities stand whose gradient, which was computed by `execution`, is
  // not finite.
  void StandAfterGradient(
      const Execution& execution, const ExecutionPoint& point,
      const std::vector<std::optional<Statistics>>* measured, uint32_t forward,
      Findings* findings) GRAPHDBG_REQUIRES(mu_);
  // The current execution's own.
  static void StandAtOnce(Findings* findings);
  void Reindex() GRAPHDBG_REQUIRES(mu_);

  const NodeTable* const nodes_;
  Devices* const devices_;

  std::atomic<bool> any_{false};
  Mutex mu_;
  // By numbers, in order of the infinities.
  std::map<uint64_t, Entry> entries_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t next_ GRAPHDBG_GUARDED_BY(mu_) = 1;
  // Those of carriers.
  std::unordered_set<uint64_t> storages_ GRAPHDBG_GUARDED_BY(mu_);
  // How many hits wait.
  size_t hits_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_UNDECIDED_INFINITIES_H_
