// Keeps values of tensors beyond the execution that produced them.
#ifndef AGENT_CORE_VALUE_KEEPER_H_
#define AGENT_CORE_VALUE_KEEPER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/core/bindings.h"
#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/host.h"
#include "agent/core/kept_tensors.h"
#include "agent/core/node_table.h"
#include "agent/core/previous_values.h"
#include "agent/core/requested_nodes.h"
#include "agent/core/seen_values.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// Decides which values are kept, and owns them:
//  - references to outputs of the current step, to show them while the program
//    is paused;
//  - copies of bound tensors at the end of the last step, and of outputs in
//    this step and the one before, to compare with;
//  - findings of checks about memory in this step.
//
// Training threads call the functions of their section; any thread may call the
// others. Has no lock of its own: the classes that store the values protect
// them, and the demand is a set of atomics, which the hot path reads.
class ValueKeeper {
 public:
  enum class Mode : uint8_t { kNothing, kWatched, kEverything };

  // The needs of the current commands and watchpoints.
  struct Demand {
    // The nodes whose outputs are kept for the current step.
    Mode mode = Mode::kNothing;
    // Some nodes' values are kept from step to step, see RequestedNodes.
    bool catching = false;
    // The agent sees every execution that writes to memory, so that findings
    // about memory stay valid until the next write.
    bool sees_writes = false;
    // Some condition compares with the previous step.
    bool previous = false;
  };

  // All must outlive this.
  struct Parts {
    const Host* host;
    const NodeTable* nodes;
    const Bindings* bindings;
    const RequestedNodes* requested;
    Devices* devices;
  };

  // With `partial_memory`, only values that are watched or requested are kept.
  ValueKeeper(const Parts& parts, int64_t budget_bytes, bool partial_memory);

  void SetDemand(const Demand& demand);

  // --- Training threads, for an execution.

  // Findings about memory in this step; null unless every write is seen.
  SeenValues* seen() { return sees_writes_ ? &seen_ : nullptr; }
  // Outputs of the execution may have been overwritten.
  void RecordWrites(const Execution& execution);
  // Keeps what is needed of an execution's values. `hit`: a watchpoint hit one
  // of its outputs, so that its inputs are of interest too.
  void Keep(const WatchSnapshot& watch, const Execution& execution,
            uint64_t step, bool hit);

  // Keeps the inputs that are not kept as outputs of their producers.
  void KeepInputs(const Execution& execution, uint64_t step);

  // --- The training thread that starts the program or ends a step.

  // Copies the bound tensors that the next step is compared with. `stepping`:
  // the user steps through the program and may want to compare any of them.
  // This costs a copy, so other tensors are left out.
  void KeepBound(const WatchSnapshot& watch, uint64_t step, bool stepping);
  // The step is over, and the program has resumed: prepares for the next one.
  void EndStep(const std::shared_ptr<const WatchSnapshot>& watch, uint64_t step,
               bool stepping);

  // --- Any thread.

  // Releases all values.
  void Clear();

  KeptTensors& kept() { return kept_; }
  const PreviousValues& previous_bound() const { return previous_bound_; }
  const PreviousValues& previous_outputs() const { return previous_outputs_; }

 private:
  void KeepPreviousOutputs(const WatchSnapshot& watch,
                           const Execution& execution, uint64_t step);
  void KeepOutputs(const Execution& execution, uint64_t step, bool hit);
  // Copies outputs that were not copied when they were produced, because the
  // watchpoint that compares them was set later in the step.
  void KeepMissedOutputs(const std::shared_ptr<const WatchSnapshot>& watch,
                         uint64_t step);

  const Parts parts_;
  const bool partial_memory_;
  const int64_t budget_bytes_;

  KeptTensors kept_;
  PreviousValues previous_bound_;
  PreviousValues previous_outputs_;
  SeenValues seen_;

  // The demand.
  std::atomic<Mode> mode_{Mode::kNothing};
  std::atomic<bool> catching_{false};
  std::atomic<bool> sees_writes_{false};

  // The watchpoints at the end of the last step, whose outputs have been copied
  // since. Used by the thread that ends steps only.
  std::shared_ptr<const WatchSnapshot> copied_for_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_VALUE_KEEPER_H_
