// Checks of tensors on accelerators whose outcome is not needed at once,
// because their watchpoints stop the program at the end of a step or not at
// all.
#ifndef AGENT_CORE_DEFERRED_CHECKS_H_
#define AGENT_CORE_DEFERRED_CHECKS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/core/checker.h"
#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/undecided_infinities.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// Training threads enqueue the measurement on the tensors' stream and continue.
// The checks are completed in execution order, by the agent's thread once the
// results have arrived, and the rest at the end of the step by the thread that
// ends it. So a hit names the first offending node, as if each result had been
// waited for. Origins are derived from the statistics of the step's other
// nodes; inputs that are not watched are not measured for them.
class DeferredChecks {
 public:
  // `report` receives what was found, on the thread that completes the check.
  // All must outlive this.
  DeferredChecks(const NodeTable* nodes, Checker* checker, Devices* devices,
                 std::function<void(Findings)> report)
      : checker_(checker),
        devices_(devices),
        report_(std::move(report)),
        undecided_(nodes, devices) {}

  // Defers the checks of an execution, whose results are like `findings`, which
  // are empty. Returns false if they have to be made
  // now, because a watchpoint stops at the node, a condition needs more than
  // statistics, the outputs are not all on one device, or the device has no
  // room. Training threads.
  bool Take(const std::shared_ptr<const WatchSnapshot>& watch,
            const Execution& execution, const ExecutionPoint& point,
            const Findings& findings) GRAPHDBG_EXCLUDES(mu_);

  // Completes the checks whose results have arrived, up to the first whose
  // result has not. The agent's thread.
  void ProcessCompleted() GRAPHDBG_EXCLUDES(mu_, processing_mu_);
  // A step ends: if a watchpoint of a deferred check stops there, waits for all
  // results and completes all checks. Training threads.
  void EndStep() GRAPHDBG_EXCLUDES(mu_, processing_mu_);
  // Waits for all results and discards them.
  void Drop() GRAPHDBG_EXCLUDES(mu_, processing_mu_);

 private:
  struct Pending {
    std::shared_ptr<const WatchSnapshot> watch;
    Execution execution;
    ExecutionPoint point;
    StatisticsRecorder* recorder = nullptr;
    bool may_wait = false;
    runtime::Accelerator* device = nullptr;
    runtime::Stream stream = nullptr;
    std::vector<runtime::Ticket> tickets;
    // A watchpoint stops the program at the end of the step.
    bool stops = false;
    // The execution's arrays point to these: identities, types and shapes of
    // tensors, but not their memory.
    std::vector<graphdbg_input> inputs;
    std::vector<graphdbg_tensor> outputs;
    std::vector<int64_t> shapes;
  };
  using PendingPtr = std::unique_ptr<Pending>;

  static bool CanWait(const WatchSnapshot::Set& set, bool* stops);
  // Fills everything but the tickets.
  static void Copy(const Execution& execution, Pending* pending);
  bool Arrived(const Pending& pending) const;
  void Process(PendingPtr pending) GRAPHDBG_REQUIRES(processing_mu_)
      GRAPHDBG_EXCLUDES(mu_);
  // The oldest check; null if there is none, or if its result has not arrived
  // and only those that have are wanted.
  PendingPtr TakeOldest(bool only_arrived) GRAPHDBG_EXCLUDES(mu_);
  void DecideInfinities() GRAPHDBG_REQUIRES(processing_mu_);
  void ProcessAll(bool only_arrived) GRAPHDBG_EXCLUDES(mu_, processing_mu_);
  PendingPtr NewPending() GRAPHDBG_EXCLUDES(mu_);

  Checker* const checker_;
  Devices* const devices_;
  const std::function<void(Findings)> report_;

  // Held by the thread that completes checks, so that they stay in order.
  Mutex processing_mu_ GRAPHDBG_ACQUIRED_BEFORE(mu_);
  // Results of the step whose checks are being completed.
  StepStatistics measured_ GRAPHDBG_GUARDED_BY(processing_mu_);
  uint64_t measured_step_ GRAPHDBG_GUARDED_BY(processing_mu_) = 0;
  // Infinities of that step.
  UndecidedInfinities undecided_;

  Mutex mu_;
  // In execution order.
  std::deque<PendingPtr> pending_ GRAPHDBG_GUARDED_BY(mu_);
  // Completed ones, to be reused.
  std::vector<PendingPtr> spare_ GRAPHDBG_GUARDED_BY(mu_);
  // How many of the pending ones stop the program at the end of the step.
  int stopping_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DEFERRED_CHECKS_H_
