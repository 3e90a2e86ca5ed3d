// Tests conditions on what a node produced, and says where a bad value came
// from.
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

// What an execution point found. Empty, without allocations, if nothing hit.
struct Findings {
  std::vector<v1::Hit> hits;
  // Watchpoints that stop the program here, and at the step's end.
  std::vector<uint32_t> stop_here;
  std::vector<uint32_t> stop_at_step_end;
  // A line for the user; mostly empty.
  std::string notice;
  // Watchpoints that go on lacking what they need, as previous values; each is
  // told once.
  std::vector<v1::WatchpointStatus> unchecked;
  // Where statistics of what was checked go, too; may be null.
  StatisticsRecorder* recorder = nullptr;

  bool empty() const {
    return hits.empty() && unchecked.empty() && notice.empty();
  }
};

// What was measured in a step, by node and slot.
using StepStatistics = std::map<std::pair<uint32_t, uint32_t>, Statistics>;

// When and where something executed.
struct ExecutionPoint {
  uint64_t step = 0;
  // Position within the step, from 1.
  uint64_t order = 0;
  // It happens now and on this thread, whose stack the host can be asked for.
  bool in_progress = true;
};

// Any training thread. Takes no lock and allocates nothing unless something
// hits.
//
// Infinities that the program asked for by name (masked_fill(-inf)) are no hit
// of conditions about infinities. Nor are infinities of a later node of the
// same step that come from such outputs alone, as of an attention score to
// which a mask was added, or from a tensor of zeros and -inf that was made out
// of sight, which is such a mask, or from a lone infinity.
//
// Gradients of a scaled loss may overflow in float16: the scaler then leaves
// the step out and tries a smaller scale. So an infinity that such a gradient
// op makes of finite inputs, and what comes of it in the same step, is no hit
// of conditions about non-finite numbers, except where it gets into a weight.
class Checker {
 public:
  // All must outlive the checker. Without devices it checks host memory only.
  Checker(const NodeTable* nodes, const Host* host, Devices* devices)
      : nodes_(nodes), host_(host), devices_(devices) {}

  // `previous` has the outputs' values a step earlier, `seen` what was found in
  // this step already, which it adds to; null: nothing is known.
  void CheckExecution(const WatchSnapshot& watch, const Execution& execution,
                      const PreviousValues* previous, SeenValues* seen,
                      const ExecutionPoint& point, Findings* findings) const;

  // Notes what an execution itself says; false if there is nothing to check.
  // CheckExecution does it.
  bool Begin(const WatchSnapshot& watch, const Execution& execution,
             const ExecutionPoint& point) const;
  // CheckExecution of values that were measured before and need not be there
  // any more, after Begin: of each output, absent where it was not, and of
  // inputs, as far as `inputs` has their producers. All conditions are of
  // statistics.
  void CheckMeasured(const WatchSnapshot& watch, const Execution& execution,
                     const std::vector<std::optional<Statistics>>& outputs,
                     const StepStatistics& inputs, const ExecutionPoint& point,
                     Findings* findings) const;

  // The present value of a bound tensor, and the one it had a step earlier;
  // null: not known.
  void CheckBound(const WatchSnapshot& watch, uint32_t node,
                  const graphdbg_tensor& tensor,
                  const graphdbg_tensor* previous, const ExecutionPoint& point,
                  Findings* findings) const;
  // The same of statistics that are known already.
  void CheckBoundMeasured(const WatchSnapshot& watch, uint32_t node,
                          const graphdbg_tensor& tensor,
                          const Statistics& statistics,
                          const ExecutionPoint& point,
                          Findings* findings) const;

 private:
  class Inputs;

  // Tests the node's conditions on one output that was measured.
  void TestOutput(const WatchSnapshot::Set& set, const Execution& execution,
                  uint32_t slot, conditions::TensorMeasurements* measurements,
                  Inputs* inputs, const ExecutionPoint& point,
                  Findings* findings) const;
  void TestBound(const WatchSnapshot::Set& set, uint32_t node,
                 const graphdbg_tensor& tensor,
                 conditions::TensorMeasurements* measurements,
                 const ExecutionPoint& point, Findings* findings) const;
  // Which of its values an execution left finite.
  void RecordFinite(const Execution& execution, const Inputs& inputs,
                    bool all_finite, const ExecutionPoint& point) const;

  bool InfinitiesAreIntentional(const Execution& execution, Inputs* inputs,
                                conditions::TensorMeasurements* output,
                                uint64_t step) const;
  // Whether an output's non-finite numbers are a loss scaler's to deal with.
  bool IsGradScalerOverflow(const Execution& execution,
                            const graphdbg_tensor& output,
                            conditions::TensorMeasurements* measurements,
                            Inputs* inputs, uint64_t step) const;
  void RecordGradScalerOverflow(const Execution& execution, uint64_t step,
                                Findings* findings) const;
  bool Overflowed(uint32_t node, uint64_t step) const;
  // Whether it makes memory in which nothing was written yet, or looks at such.
  bool IsUninitialized(const Execution& execution, uint64_t step) const;
  // Whether all that a node made was last seen to be finite, in this step or at
  // the end of the one before.
  bool WasFinite(uint32_t node, uint64_t step) const;
  v1::HitOrigin OriginOf(const conditions::Predicate& predicate,
                         const Execution& execution, Inputs* inputs,
                         uint64_t step) const;
  bool IsIntentional(uint32_t node, uint64_t step) const;
  // Of an input that holds infinities.
  bool IsIntentionalInput(uint32_t node, const Statistics& statistics,
                          uint64_t step) const;
  v1::Hit MakeHit(const Watchpoint& watchpoint, uint32_t node, uint32_t slot,
                  const graphdbg_tensor& tensor,
                  conditions::TensorMeasurements* measurements,
                  const ExecutionPoint& point) const;
  // The condition compares with a previous value that is not known.
  void RecordMissingPrevious(const Watchpoint& watchpoint, uint32_t node,
                             uint64_t step, Findings* findings) const;
  // The condition is about the overflow flag, which the tensor's device has
  // not.
  void RecordMissingFlag(const Watchpoint& watchpoint,
                         const graphdbg_tensor& tensor,
                         Findings* findings) const;
  v1::SourceFrame SourceOf(uint32_t node, const ExecutionPoint& point) const;

  const NodeTable* const nodes_;
  const Host* const host_;
  Devices* const devices_;
  // The newest step with an overflow that is a scaler's business.
  mutable std::atomic<uint64_t> overflow_step_{0};
  mutable std::atomic<bool> reported_overflow_{false};
};

v1::Statistics ToProto(const Statistics& statistics);
v1::TensorType TypeOf(const graphdbg_tensor& tensor);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CHECKER_H_
