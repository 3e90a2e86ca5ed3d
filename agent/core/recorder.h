// Records the values that the program computes, as the settings request.
#ifndef AGENT_CORE_RECORDER_H_
#define AGENT_CORE_RECORDER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "agent/base/mutex.h"
#include "agent/core/bindings.h"
#include "agent/core/checker.h"
#include "agent/core/collections.h"
#include "agent/core/device_records.h"
#include "agent/core/devices.h"
#include "agent/core/execution.h"
#include "agent/core/execution_counter.h"
#include "agent/core/host.h"
#include "agent/core/node_table.h"
#include "agent/core/overview.h"
#include "agent/core/previous_values.h"
#include "agent/core/record_schedule.h"
#include "agent/core/record_settings.h"
#include "agent/core/recording.h"

namespace graphdbg::agent {

// Exists only while something is recorded, so that nothing of it costs anything
// otherwise.
//
// Training threads call the functions of the first section. Executed takes a
// lock only until the graph around a new node is known, and waits only if the
// settings request it (`when_full: block`).
class Recorder {
 public:
  // All must outlive this.
  struct Parts {
    const Host* host;
    Devices* devices;
    NodeTable* nodes;
    const Bindings* bindings;
    ExecutionCounter* counter;
    // For copies of tensors that later ones are compared with.
    int64_t budget_bytes;
    // Receives what is measured; may be null.
    Overview* overview;
    // Whether source files are recorded whole.
    bool source_files;
    // A line for the user. Any thread.
    std::function<void(const std::string&)> log;
  };

  Recorder(const Parts& parts, RecordSettings settings,
           std::vector<std::string>* problems);
  ~Recorder();

  // --- Training threads.

  void AddNode(uint32_t node);
  // `is_new`: the node has not executed before.
  void Executed(const Execution& execution, const ExecutionPoint& point,
                bool is_new) GRAPHDBG_EXCLUDES(mu_);
  // This thread begins an op, and has ended it.
  void BeginOp(uint32_t node);
  void EndOp();
  // The step in progress was repeated for this long in order to measure it.
  void AddRepetition(std::chrono::nanoseconds time) {
    repeated_ns_ += static_cast<uint64_t>(time.count());
  }
  // The program calls a model for this purpose. `within_step`: the call is no
  // step, but belongs to the training step that comes next.
  void BeginPass(runs::Mode mode, bool within_step) GRAPHDBG_EXCLUDES(mu_);
  // Until further notice, the program computes for this purpose, whatever
  // BeginPass reports; kUnknown ends that.
  void SetMode(runs::Mode mode) GRAPHDBG_EXCLUDES(mu_);
  // The program saves the node's output to this collection, whenever it is
  // executed.
  void AddSaved(uint32_t node, absl::string_view collection);
  // Evaluation within a training step is over.
  void EndPass() GRAPHDBG_EXCLUDES(mu_);
  // Measures bound tensors, and ends the step in the recording.
  void EndStep(uint64_t step) GRAPHDBG_EXCLUDES(mu_);
  // The program continues after a step.
  void BeginStep(uint64_t step) GRAPHDBG_EXCLUDES(mu_);

  // Begins to record, with this step.
  void Begin(uint64_t step) GRAPHDBG_EXCLUDES(mu_);
  // Between two steps: records collections that AddBoost has returned from this
  // step on, which is the next one.
  void Boost(CollectionMask collections, uint64_t step, uint64_t steps)
      GRAPHDBG_EXCLUDES(mu_);

  // --- Any thread.

  // Creates the files. Called once, before anything else.
  absl::Status Open(const OpenRecordingFunction& open, const v1::Hello& hello,
                    const std::string& program, const std::string& default_run);
  // Instead of Open: nothing is kept, and the overview alone receives what is
  // measured.
  void OpenWithoutFiles();
  bool has_files() const { return has_files_; }
  // The number of steps that were left out to limit the overhead.
  uint64_t steps_left_out() const { return steps_left_out_.load(); }
  // The program has executed steps already: which nodes collections contain is
  // found out in the first step, in which all nodes are of interest.
  void LearnGraph() { learns_ = true; }
  // Collections that can be recorded for some steps beside those of the
  // settings; see ReadBoostJson. The worker only.
  absl::StatusOr<CollectionMask> AddBoost(const std::string& settings);
  // The name of the run.
  std::string run() const;
  struct Status {
    // The run's.
    std::string directory;
    bool keeps_all = true;
    uint64_t steps = 0;
    uint64_t records = 0;
    uint64_t dropped = 0;
    // The size of ring, log and saved values.
    uint64_t bytes = 0;
    double time_share = 0;
  };
  Status status() const GRAPHDBG_EXCLUDES(mu_);
  void Hit(const v1::Hit& hit) GRAPHDBG_EXCLUDES(mu_);
  // The user has changed the paused program. The time is filled in.
  void UserChanged(v1::UserChange change);
  void GraphChanged();
  // `reason`: "exit", "exception" or "terminated".
  void Close(const v1::Goodbye& goodbye, absl::string_view reason)
      GRAPHDBG_EXCLUDES(mu_);
  void GoInert();

  // Whether executions of recorded nodes are of interest now, or of all nodes.
  // Without a lock.
  bool due() const { return (due_ != 0 || everything()) && on(); }
  bool everything() const { return (everything_ || learns_) && on(); }
  bool on() const { return on_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  // Whether ops are timed for the overview now.
  bool times_ops() const {
    return parts_.overview != nullptr && parts_.overview->op_timer().on() &&
           due();
  }
  // Adds the time since `begin` to what measuring takes.
  void CountMeasuring(Clock::time_point begin);

  // A step, or a pass within one.
  struct Dropped {
    uint64_t records = 0;
    uint64_t tensors = 0;
  };
  struct Phase {
    runs::Mode mode = runs::Mode::kUnknown;
    uint64_t pass = 0;
    uint64_t mode_step = 0;
    runs::EndReason reason = runs::EndReason::kNone;
    // Counters at its beginning; `dropped` of a step: at the end of the step
    // before.
    uint64_t records = 0;
    Dropped dropped;
    uint64_t tensor_bytes = 0;
    uint64_t measuring_ns = 0;
  };
  // Idle units, and the collections that count them so.
  struct CountedUnits {
    RecordedUnits recorded;
    CollectionMask collections = 0;
  };
  struct Measured {
    Statistics statistics;
    double grad_scale = 1;
    // With the digest, if there is one.
    std::optional<RecordedChange> change;
    // One for each way in which its collections count units.
    std::vector<CountedUnits> units;
    // For the overview.
    uint64_t count = 0;
    std::optional<Quantiles> quantiles;
  };
  // Measured before it was known whether a collection contains it.
  struct Provisional {
    RecordKey key;
    Measured measured;
    // Those that may contain it.
    CollectionMask collections;
  };

  // Values that were copied before it was known whether a collection contains
  // them.
  struct ProvisionalValues {
    RecordKey key;
    CollectionMask due;
    double grad_scale;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  // A copy of values on an accelerator.
  struct DeviceValue {
    RecordKey key;
    double grad_scale;
    CollectionMask selected;
    CollectionMask undecided;
    std::shared_ptr<const PreviousValue> copy;
  };

  // Begins to measure a tensor on an accelerator. `provisional` is as for
  // DeviceRecords::Begin. False if it has to be
  // measured at once.
  bool MeasureLater(const graphdbg_tensor& tensor, double grad_scale,
                    CollectionMask selected, CollectionMask provisional,
                    RecordKey* key);
  // Waits for what accelerators measure and copy. `waits` is as for
  // SaveDeviceValues.
  void FinishDevices(bool waits);
  void Take(const DeviceRecords::Result& result);
  // Appends it at the end of the step, if a collection contains it then.
  void AppendLater(const RecordKey& key, const Measured& measured,
                   CollectionMask collections)
      GRAPHDBG_EXCLUDES(provisional_mu_);
  // What tensors of these collections stand for in the overview.
  v1::OverviewRole RoleOf(CollectionMask collections) const;
  void AddToOverview(const RecordKey& key, const Measured& measured);
  // Records an output in the form that the key's flags select.
  bool Measure(const graphdbg_tensor& tensor, double grad_scale,
               CollectionMask selected, RecordKey* key, Measured* to);
  // Whether something is computed that accelerators do not compute later.
  bool NeedsValues(CollectionMask selected) const;
  // Computes digests and counts units, for collections that have them.
  void Reduce(const graphdbg_tensor& tensor, const StatisticsBackend* backend,
              CollectionMask selected, Measured* to);
  // Whether a tensor is compared with its last recorded value. For an output,
  // only the first execution in a step and mode is compared.
  bool Compares(const graphdbg_tensor& tensor, CollectionMask selected,
                const RecordKey& key, bool bound) const;
  // Compares a tensor with its last recorded value, and keeps this one.
  void Compare(const graphdbg_tensor& tensor, const RecordKey& key, bool bound,
               Measured* to);
  // `collections`: those that contain the tensor.
  void Append(const RecordKey& key, const Measured& measured,
              CollectionMask collections);
  // The same, but waits for room if the settings request it. The host is called
  // back, so no lock may be held.
  void AppendOrWait(const RecordKey& key, const Measured& measured,
                    CollectionMask collections) GRAPHDBG_EXCLUDES(mu_);
  // Saves the values of an output or bound tensor, if they are to be saved.
  // `selected`: the due collections that contain it. `undecided`: those that
  // may do so.
  void SaveValues(const graphdbg_tensor& tensor, double grad_scale,
                  CollectionMask selected, CollectionMask undecided,
                  const RecordKey& key) GRAPHDBG_EXCLUDES(mu_);
  bool Saves(CollectionMask selected) const;
  // The share of the room for values, which collections that are listed first
  // have for themselves.
  double ShareOf(CollectionMask selected) const;
  // Copies values on an accelerator, to save them at the end of the step or
  // pass.
  void SaveFromDevice(const graphdbg_tensor& tensor, double grad_scale,
                      CollectionMask selected, CollectionMask undecided,
                      const RecordKey& key)
      GRAPHDBG_EXCLUDES(device_values_mu_);
  // Reads these copies. `waits`: no lock is held, so the host may be called.
  void SaveDeviceValues(bool waits) GRAPHDBG_EXCLUDES(device_values_mu_);
  void SaveLater(const TensorView& view, double grad_scale, CollectionMask due,
                 const RecordKey& key) GRAPHDBG_EXCLUDES(provisional_mu_);
  void SaveOrWait(const RecordKey& key, const TensorToSave& tensor)
      GRAPHDBG_EXCLUDES(mu_);
  void SaveHostValues(const TensorView& view, double grad_scale,
                      CollectionMask selected, CollectionMask undecided,
                      const RecordKey& key, bool waits);
  void SaveProvisional() GRAPHDBG_EXCLUDES(provisional_mu_);
  uint64_t PassOf(const Execution& execution) const;
  uint16_t FlagsOf(const Execution& execution, const graphdbg_tensor& tensor,
                   uint64_t step) const;
  void RecordBound(uint64_t step, const Phase& phase) GRAPHDBG_EXCLUDES(mu_);
  // Waits until there is room, up to the limit of a step. The host is called
  // back.
  void WaitUntil(absl::FunctionRef<bool()> has_room);
  // Has the recording note that this thread begins the op.
  void NoteBegun(uint32_t node, const NodeFacts& facts);
  RecordKey KeyOf(const Phase& phase) const;
  Dropped DroppedNow() const;

  // Reports the step for the overview, and records the times of its ops.
  void EndOverview(const Overview::Step& step, Clock::time_point now)
      GRAPHDBG_REQUIRES(mu_);

  void BeginStepAs(runs::Mode mode) GRAPHDBG_REQUIRES(mu_);
  void Begin(Phase* phase, Clock::time_point since, uint64_t unix_ns)
      GRAPHDBG_REQUIRES(mu_);
  void End(const Phase& phase) GRAPHDBG_REQUIRES(mu_);
  void OpenPass(runs::Mode mode) GRAPHDBG_REQUIRES(mu_);
  void ClosePass() GRAPHDBG_REQUIRES(mu_);
  // Plans the phase of this step, and makes it the one to which what is
  // measured belongs.
  void Enter(Phase* phase, uint64_t step) GRAPHDBG_REQUIRES(mu_);
  // Decides which collections contain nodes that were new in this step.
  void Decide() GRAPHDBG_EXCLUDES(mu_);
  void LogProblems(uint64_t step) GRAPHDBG_REQUIRES(mu_);
  // Leaves out collections of boosts that are not in progress.
  CollectionMask Usable(CollectionMask collections) const {
    return collections & (~boosts_ | boosted_);
  }
  // Flags the nodes that some usable collection contains.
  void FlagRecorded();

  const Parts parts_;
  const RecordSettings settings_;
  Collections collections_;
  // Collections at a level above light, those with a digest, those with
  // changes, and those with values.
  std::atomic<CollectionMask> full_{0};
  CollectionMask digests_ = 0;
  CollectionMask changes_ = 0;
  CollectionMask units_ = 0;
  std::atomic<CollectionMask> tensors_{0};
  // By role in the overview.
  std::array<CollectionMask, v1::OverviewRole_ARRAYSIZE> roles_{};
  // Collections that AddBoost has added, and those whose boost is in progress.
  std::atomic<CollectionMask> boosts_{0};
  std::atomic<CollectionMask> boosted_{0};
  // By their settings. The worker only.
  std::map<std::string, CollectionMask> known_boosts_;
  // Collections of boosts whose nodes have been looked up. Training threads,
  // between steps.
  CollectionMask applied_boosts_ = 0;
  // Set once, before `on_`.
  std::unique_ptr<Recording> recording_;
  bool has_files_ = true;
  std::atomic<bool> closed_{false};
  std::atomic<bool> learns_{false};
  std::atomic<uint64_t> steps_{0};
  std::atomic<uint64_t> steps_left_out_{0};
  // Its thread hangs in the file system, and uses it forever.
  bool leaks_ = false;

  std::atomic<bool> on_{false};
  // For the phase in progress.
  std::atomic<CollectionMask> due_{0};
  std::atomic<bool> everything_{false};
  std::atomic<runs::Mode> mode_{runs::Mode::kUnknown};
  std::atomic<uint64_t> pass_{1};
  // The phase is a pass within a step.
  std::atomic<bool> in_pass_{false};
  std::atomic<bool> step_begun_{false};
  // The graph or a collection has grown since WriteDescriptions.
  std::atomic<bool> undescribed_{true};
  // Evaluation does not end a step.
  std::atomic<bool> has_optimizer_{false};
  // Since the beginning.
  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> measuring_ns_{0};
  // In this step, which may begin with what is repeated.
  std::atomic<uint64_t> repeated_ns_{0};
  // In this step.
  std::atomic<int64_t> waited_ms_{0};

  mutable Mutex mu_;
  RecordSchedule schedule_ GRAPHDBG_GUARDED_BY(mu_);
  Phase step_phase_ GRAPHDBG_GUARDED_BY(mu_);
  // The program reports its calls of models.
  bool knows_modes_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // The mode set by SetMode; kUnknown if it was not called.
  runs::Mode set_mode_ GRAPHDBG_GUARDED_BY(mu_) = runs::Mode::kUnknown;
  std::optional<Phase> open_pass_ GRAPHDBG_GUARDED_BY(mu_);
  std::array<uint64_t, runs::kModes> mode_steps_ GRAPHDBG_GUARDED_BY(mu_){};
  // Up to the end of the last step.
  Dropped dropped_ GRAPHDBG_GUARDED_BY(mu_);
  // Passes of this step, by mode.
  std::array<uint64_t, runs::kModes> passes_ GRAPHDBG_GUARDED_BY(mu_){};
  Clock::time_point step_since_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t step_since_unix_ns_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // Whether the times of this step's ops are recorded, and when they may be
  // again.
  bool records_op_times_ GRAPHDBG_GUARDED_BY(mu_) = false;
  Clock::time_point next_op_times_ GRAPHDBG_GUARDED_BY(mu_);
  // When recording began.
  Clock::time_point since_ GRAPHDBG_GUARDED_BY(mu_);
  bool logged_dropped_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool logged_tensors_dropped_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool logged_empty_ GRAPHDBG_GUARDED_BY(mu_) = false;

  Mutex provisional_mu_ GRAPHDBG_ACQUIRED_AFTER(mu_);
  std::vector<Provisional> provisional_ GRAPHDBG_GUARDED_BY(provisional_mu_);
  std::vector<ProvisionalValues> provisional_values_
      GRAPHDBG_GUARDED_BY(provisional_mu_);
  uint64_t provisional_bytes_ GRAPHDBG_GUARDED_BY(provisional_mu_) = 0;
  Mutex device_values_mu_ GRAPHDBG_ACQUIRED_AFTER(mu_);
  std::vector<DeviceValue> device_values_
      GRAPHDBG_GUARDED_BY(device_values_mu_);
  // Lock themselves.
  PreviousValues previous_;
  PreviousValues device_copies_;
  DeviceRecords device_records_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORDER_H_
