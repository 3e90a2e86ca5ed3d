// When what is recorded.
#ifndef AGENT_CORE_RECORD_SCHEDULE_H_
#define AGENT_CORE_RECORD_SCHEDULE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/core/collections.h"
#include "agent/core/record_settings.h"
#include "agent/core/step_cost.h"
#include "proto/runs/record.h"

namespace graphdbg::agent {

// Decides before each step, and each pass within a step, which collections are
// recorded: those that are due, or all tensors for some steps after a hit, or
// nothing if recording would take more of the program's time than it may. Over
// the limit whole steps are left out, evenly.
//
// Not thread-safe.
class RecordSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  // `settings` must outlive this.
  explicit RecordSchedule(const RecordSettings* settings);

  struct Plan {
    // The collections to record.
    CollectionMask due = 0;
    // The collections in `due` that are recorded because of Boost.
    CollectionMask boosted = 0;
    // Every tensor, whether or not a collection contains it.
    bool everything = false;
    // Why nothing is recorded.
    runs::EndReason reason = runs::EndReason::kNone;
  };
  // For step number `mode_step` of a mode, or a pass. Both belong to step
  // `step`.
  Plan For(runs::Mode mode, uint64_t mode_step, uint64_t step) const;

  struct EndedStep {
    uint64_t number = 0;
    // The reason that its plan had.
    runs::EndReason reason = runs::EndReason::kNone;
    std::chrono::nanoseconds measuring{0};
    // The number of ops that were followed.
    uint64_t ops = 0;
    // Without the stop at the end of the step before.
    std::chrono::nanoseconds duration{0};
    // Whether there was nothing to record.
    bool in_vain = false;
  };
  // Returns what recording the step has cost; see StepCost.
  std::chrono::nanoseconds EndStep(const EndedStep& step,
                                   Clock::time_point now);

  // A watchpoint hit in this step. Returns the last step in which everything is
  // recorded because of that; 0 if an earlier hit is too recent.
  uint64_t Hit(uint64_t step);

  // Records further collections in steps up to `through`, even if that exceeds
  // the limit of the overhead.
  void Boost(CollectionMask collections, uint64_t through);

  // Collections that are recorded with all statistics, and with a digest.
  CollectionMask full() const { return full_; }
  CollectionMask digests() const { return digests_; }
  // Collections whose parameters are compared with their last recorded values.
  CollectionMask changes() const { return changes_; }
  // Collections whose units are counted.
  CollectionMask units() const { return units_; }
  // Collections whose values are saved.
  CollectionMask tensors() const { return tensors_; }

 private:
  const RecordSettings* const settings_;
  // By collection and mode.
  std::vector<std::array<Schedule, runs::kModes>> schedules_;
  CollectionMask full_ = 0;
  CollectionMask digests_ = 0;
  CollectionMask changes_ = 0;
  CollectionMask units_ = 0;
  CollectionMask tensors_ = 0;

  // Whether nothing but what is due decides about what is recorded.
  bool IsUsual(uint64_t step) const;

  StepCost cost_;
  // When the limit allows the next measurement.
  Clock::time_point next_to_measure_;
  bool over_limit_ = false;
  // The same for the overview after a step that had nothing to record.
  Clock::time_point next_look_;
  bool looks_later_ = false;
  uint64_t everything_through_ = 0;
  // By collections, the last step of each boost.
  std::map<CollectionMask, uint64_t> boosts_;
  // The last hit that had an effect; 0: none.
  uint64_t hit_step_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORD_SCHEDULE_H_
