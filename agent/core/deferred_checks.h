// Conditions that need not be decided at their node: of watchpoints that stop
// the program at a step's end or not at all, on tensors of accelerators.
#ifndef AGENT_CORE_DEFERRED_CHECKS_H_
#define AGENT_CORE_DEFERRED_CHECKS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "agent/core/checker.h"
#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// The training thread puts the measuring on the tensors' stream and goes on;
// results come back while it does. They are judged in the order of execution,
// by the agent's thread, and what is left at the step's end by the thread that
// ends it. So a hit names the first offending node, as if each had been waited
// for. Where a bad value came from is told from the statistics of the step's
// other nodes: an input that nothing watches is not measured for it.
class DeferredChecks {
 public:
  // `report` is told what was found, by the judging thread. All must outlive
  // this.
  DeferredChecks(Checker* checker, Devices* devices,
                 std::function<void(Findings)> report)
      : checker_(checker), devices_(devices), report_(std::move(report)) {}

  // False if the execution has to be checked now: not all its outputs are on
  // one device and its conditions of statistics alone, some watchpoint stops at
  // the node, or the device has no room. Training threads.
  bool Take(const std::shared_ptr<const WatchSnapshot>& watch,
            const Execution& execution, const ExecutionPoint& point,
            StatisticsRecorder* recorder);

  // Judges what has arrived, up to the first that has not. The agent's thread.
  void ProcessCompleted();
  // A step ends: waits for and judges all, if some watchpoint among them stops
  // there. Training threads.
  void EndStep();
  // Waits for all and forgets them.
  void Drop();

 private:
  struct Pending {
    std::shared_ptr<const WatchSnapshot> watch;
    Execution execution;
    ExecutionPoint point;
    StatisticsRecorder* recorder = nullptr;
    runtime::Accelerator* device = nullptr;
    runtime::Stream stream = nullptr;
    std::vector<runtime::Ticket> tickets;
    bool stops = false;
    // What the execution's arrays are views of: identities, types and shapes,
    // but no memory.
    std::vector<graphdbg_input> inputs;
    std::vector<graphdbg_tensor> outputs;
    std::vector<int64_t> shapes;
  };
  using PendingPtr = std::unique_ptr<Pending>;

  static bool CanWait(const WatchSnapshot::Set& set, bool* stops);
  // Fills everything but the tickets.
  static void Copy(const Execution& execution, Pending* pending);
  bool Arrived(const Pending& pending) const;
  // With processing_mu_ held, of the oldest.
  void Process(PendingPtr pending);
  // The oldest if it has arrived, or at any rate; null if there is none.
  PendingPtr TakeOldest(bool only_arrived);
  void ProcessAll(bool only_arrived);
  PendingPtr NewPending();

  Checker* const checker_;
  Devices* const devices_;
  const std::function<void(Findings)> report_;

  std::mutex mu_;
  // Guarded by mu_. In the order of execution; those that are used again.
  std::deque<PendingPtr> pending_;
  std::vector<PendingPtr> spare_;
  // Of those that are pending, how many stop at the step's end.
  int stopping_ = 0;

  // Held by the thread that judges.
  std::mutex processing_mu_;
  // Guarded by processing_mu_. Of the step whose executions are being judged.
  StepStatistics measured_;
  uint64_t measured_step_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DEFERRED_CHECKS_H_
