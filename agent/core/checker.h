// Tests the conditions of watchpoints on the values that nodes produce, and
// determines where bad values originate.
#ifndef AGENT_CORE_CHECKER_H_
#define AGENT_CORE_CHECKER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/host.h"
#include "agent/core/node_table.h"
#include "agent/core/previous_values.h"
#include "agent/core/seen_values.h"
#include "agent/core/watch_table.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

class StatisticsRecorder;

// A hit by infinities whose consequences decide whether it counts.
struct UndecidedHit {
  v1::Hit hit;
  v1::PauseMode pause;
};

// The result of checks at an execution point. Allocates nothing if nothing hit.
struct Findings {
  std::vector<v1::Hit> hits;
  // Only if `may_wait`; otherwise such hits are among the others.
  std::vector<UndecidedHit> undecided;
  bool may_wait = false;
  // Watchpoints that stop the program here, and at the end of the step.
  std::vector<uint32_t> stop_here;
  std::vector<uint32_t> stop_at_step_end;
  // A line for the user; usually empty.
  std::string notice;
  // Watchpoints that cannot be checked because something they need, such as
  // previous values, is missing for longer. Each is reported once.
  std::vector<v1::WatchpointStatus> unchecked;
  // Also receives the statistics of checked tensors; may be null.
  StatisticsRecorder* recorder = nullptr;

  bool empty() const {
    return hits.empty() && unchecked.empty() && notice.empty();
  }
  // Some output of the execution matched a condition.
  bool any_hit() const { return !hits.empty() || !undecided.empty(); }
  // Has the program stop for this watchpoint, as its mode requires.
  void AddStop(uint32_t watchpoint, v1::PauseMode pause);
};

// Statistics that were measured in a step, by node and slot.
using StepStatistics = std::map<std::pair<uint32_t, uint32_t>, Statistics>;

// The point of a step at which something executed.
struct ExecutionPoint {
  uint64_t step = 0;
  // Position within the step, from 1.
  uint64_t order = 0;
  // It executes now and on this thread, so that the host can provide its stack.
  bool in_progress = true;
  // How many of the positions directly before are those of inputs.
  uint32_t inputs_before = 0;
};

// Any training thread. Takes no lock and allocates nothing unless something
// hits.
//
// Intentional infinities do not count as hits of conditions that match
// infinities: those that the program names explicitly (masked_fill(-inf)) or
// the user declares to be intentional (GRAPHDBG_INTENTIONAL_INFINITIES),
// those of later nodes in the same step that derive from such outputs alone
// and are no larger a share of their tensor, like an attention score to which a
// mask was added, a lone infinity, and a tensor of zeros and -inf, which is
// such a mask made out of the agent's sight.
//
// Gradients of a scaled loss may overflow in float16. GradScaler then skips the
// step and tries a smaller scale. So an infinity that such a gradient op makes
// of finite inputs, and the values derived from it in the same step, do not
// count as hits of conditions that match non-finite numbers, unless they reach
// a weight.
class Checker {
 public:
  // All must outlive the checker. `devices` may be null if all tensors are in
  // host memory.
  Checker(const NodeTable* nodes, const Host* host, Devices* devices)
      : nodes_(nodes), host_(host), devices_(devices) {}

  // `previous` has the outputs' values in the previous step, and `seen` the
  // findings about memory in this step, which are extended. Both may be null.
  void CheckExecution(const WatchSnapshot& watch, const Execution& execution,
                      const PreviousValues* previous, SeenValues* seen,
                      const ExecutionPoint& point, Findings* findings) const;

  // Whether no condition of the node holds, which is found out by a quick look
  // at its outputs: there are no conditions, or each holds for NaN and
  // infinities alone, and the outputs are small, in host memory, and finite.
  // Otherwise CheckExecution follows; it records everything that this does.
  // Allocates nothing.
  bool IsPlainlyFine(const WatchSnapshot& watch, const Execution& execution,
                     const ExecutionPoint& point) const;

  // Reports the hits of conditions on executions, which CheckExecution and
  // CheckMeasured do not. Reads no tensor.
  void ReportExecution(const WatchSnapshot& watch, const Execution& execution,
                       const ExecutionPoint& point, Findings* findings) const;

  // Records the properties that an execution states itself. Returns false if
  // there is no tensor to check. Part of CheckExecution.
  bool Begin(const WatchSnapshot& watch, const Execution& execution,
             const ExecutionPoint& point) const;
  // Like CheckExecution, after Begin, but for values that were measured before
  // and may no longer exist. `outputs` has the statistics of each output,
  // absent where it was not measured; `inputs` has those of known producers.
  // The node's conditions must use statistics only.
  void CheckMeasured(const WatchSnapshot& watch, const Execution& execution,
                     const std::vector<std::optional<Statistics>>& outputs,
                     const StepStatistics& inputs, const ExecutionPoint& point,
                     Findings* findings) const;

  // The same for a bound tensor, instead of CheckBound.
  bool IsPlainlyFine(const WatchSnapshot& watch, uint32_t node,
                     const graphdbg_tensor& tensor, uint64_t step) const;

  // Checks the current value of a bound tensor. `previous` is its value in the
  // previous step; null if it is not known. `known` is the result of an earlier
  // pass over the current one.
  void CheckBound(const WatchSnapshot& watch, uint32_t node,
                  const graphdbg_tensor& tensor,
                  const graphdbg_tensor* previous, const ExecutionPoint& point,
                  Findings* findings,
                  const conditions::ScanResult& known = {}) const;
  // The same with statistics that are already known.
  void CheckBoundMeasured(const WatchSnapshot& watch, uint32_t node,
                          const graphdbg_tensor& tensor,
                          const Statistics& statistics,
                          const ExecutionPoint& point,
                          Findings* findings) const;

 private:
  class Inputs;

  // Tests the node's conditions on one output.
  void TestOutput(const WatchSnapshot::Set& set, const Execution& execution,
                  uint32_t slot, conditions::TensorMeasurements* measurements,
                  Inputs* inputs, const ExecutionPoint& point,
                  Findings* findings) const;
  void TestBound(const WatchSnapshot::Set& set, uint32_t node,
                 const graphdbg_tensor& tensor,
                 conditions::TensorMeasurements* measurements,
                 const ExecutionPoint& point, Findings* findings) const;
  // Records whether the values that an execution wrote are finite.
  void RecordFinite(const Execution& execution, const Inputs& inputs,
                    bool all_finite, const ExecutionPoint& point) const;

  bool InfinitiesAreIntentional(const Execution& execution, Inputs* inputs,
                                conditions::TensorMeasurements* output,
                                uint64_t step) const;
  // Whether an output's non-finite numbers come from an overflow that
  // GradScaler handles.
  bool IsGradScalerOverflow(const Execution& execution,
                            const graphdbg_tensor& output,
                            conditions::TensorMeasurements* measurements,
                            Inputs* inputs, uint64_t step) const;
  void RecordGradScalerOverflow(const Execution& execution, uint64_t step,
                                Findings* findings) const;
  bool Overflowed(uint32_t node, uint64_t step) const;
  // Whether its outputs are memory that was not written to yet, or views of it.
  bool IsUninitialized(const Execution& execution, uint64_t step) const;
  // Whether all outputs of a node were last found to be finite, in this step or
  // at the end of the previous one.
  bool WasFinite(uint32_t node, uint64_t step) const;
  v1::HitOrigin OriginOf(const conditions::Predicate& predicate,
                         const Execution& execution, Inputs* inputs,
                         uint64_t step) const;
  // Whether a hit only passes on what another hit has begun: for NaN and
  // infinities, one of the watchpoint in this step or the previous one.
  static bool Continues(const Watchpoint& watchpoint, const v1::Hit& hit);
  // When a hit stops the program, if at all.
  static v1::PauseMode PauseFor(const Watchpoint& watchpoint, bool continues);
  // Adds what the op has read to a hit.
  static void AddInputs(const Execution& execution, uint64_t step,
                        Inputs* inputs, v1::Hit* hit);
  // Whether the execution is the first of a run of the watchpoint's line.
  bool BeginsRun(const Watchpoint& watchpoint, uint32_t node,
                 const ExecutionPoint& point) const;
  bool IsIntentional(uint32_t node, uint64_t step) const;
  // The same for an input that contains infinities.
  bool IsIntentionalInput(uint32_t node, const Statistics& statistics,
                          uint64_t step) const;
  // A hit without what the tensor has.
  v1::Hit MakeHit(const Watchpoint& watchpoint, uint32_t node, uint32_t slot,
                  const ExecutionPoint& point) const;
  v1::Hit MakeHit(const Watchpoint& watchpoint, uint32_t node, uint32_t slot,
                  const graphdbg_tensor& tensor,
                  conditions::TensorMeasurements* measurements,
                  const ExecutionPoint& point) const;
  // The condition compares with a previous value, which is missing.
  void RecordMissingPrevious(const Watchpoint& watchpoint, uint32_t node,
                             uint64_t step, Findings* findings) const;
  // The condition tests the overflow flag, which the tensor's device lacks.
  void RecordMissingFlag(const Watchpoint& watchpoint,
                         const graphdbg_tensor& tensor,
                         Findings* findings) const;
  // The condition tests more channels than it may.
  void RecordTooManyChannels(const Watchpoint& watchpoint, uint32_t node,
                             Findings* findings) const;
  v1::SourceFrame SourceOf(uint32_t node, const ExecutionPoint& point) const;

  const NodeTable* const nodes_;
  const Host* const host_;
  Devices* const devices_;
  // The newest step in which outputs were not written to yet.
  mutable std::atomic<uint64_t> uninitialized_step_{UINT64_MAX};
  // The newest step with an overflow that GradScaler handles.
  mutable std::atomic<uint64_t> overflow_step_{0};
  mutable std::atomic<bool> reported_overflow_{false};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CHECKER_H_
