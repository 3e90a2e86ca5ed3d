// The functions of Recorder that measure values and append them.
#include <algorithm>
#include <thread>
#include <utility>

#include "agent/core/recorder.h"
#include "agent/core/sampled_tensor.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/sketch.h"
#include "agent/tensor/complex_parts.h"

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// With `when_full: block`: how long a step may wait for room, and how often to
// look.
constexpr milliseconds kLongestWait(10'000);
constexpr milliseconds kWaitInterval(1);
runs::Mode ModeOf(graphdbg_mode mode) {
  return mode >= 0 && mode < runs::kModes ? static_cast<runs::Mode>(mode)
                                          : runs::Mode::kUnknown;
}

// One quick pass; false if it does not suffice.
bool MeasureLight(const TensorView& view, Statistics* statistics) {
  const std::optional<Sketch> sketch = cpu::ComputeSketch(view);
  if (!sketch) return false;
  statistics->count = sketch->count;
  statistics->min = sketch->min;
  statistics->max = sketch->max;
  return true;
}

// Whether somebody receives the overview. A job that is recorded without a
// server has nobody.
bool IsShown(Overview* overview) {
  return overview != nullptr && overview->op_timer().wanted();
}

uint64_t CountOf(const graphdbg_tensor& tensor) {
  return static_cast<uint64_t>(ViewOf(tensor).element_count().value_or(0));
}

bool ComputeAll(const TensorView& given, const StatisticsBackend* backend,
                bool light, Statistics* statistics) {
  ComplexParts parts;
  const TensorView view =
      ComplexParts::IsApplicable(given) ? parts.AsReal(given) : given;
  if (backend != nullptr) return backend->ComputeStatistics(view, statistics);
  return (light && MeasureLight(view, statistics)) ||
         cpu::ComputeStatistics(view, statistics);
}

}  // namespace

void Recorder::Executed(const Execution& execution, const ExecutionPoint& point,
                        bool is_new) {
  if (!on()) return;
  if (!step_begun_) {
    MutexLock lock(&mu_);
    // Values that precede the call of a model belong to a step like the last
    // one, until the call reveals more.
    BeginStepAs(knows_modes_ ? step_phase_.mode : ModeOf(execution.mode));
  }
  const CollectionMask undecided = collections_.Undecided(execution.node);
  if (is_new || undecided != 0 || learns_) {
    collections_.Observe(execution, point.step << 16 | execution.micro_step);
  }
  // Values that the program saves are always due.
  const CollectionMask due = due_ | kSavedByProgram;
  const bool saved =
      (collections_.Of(execution.node, 0) & kSavedByProgram) != 0;
  if ((due_ == 0 && !everything_ && !saved) ||
      execution.has(GRAPHDBG_UNINITIALIZED)) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  RecordKey key;
  key.step = point.step;
  key.mode = mode_;
  key.pass = PassOf(execution);
  key.node = execution.node;
  key.exec_order = point.order;
  key.iteration = execution.iteration;
  for (uint32_t slot = 0; slot < execution.outputs.size(); ++slot) {
    const CollectionMask selected = collections_.Of(execution.node, slot) & due;
    CollectionMask provisional =
        selected == 0 && !everything_ && slot == 0 ? undecided & due : 0;
    // How the undecided ones count units has to be known, too.
    if (slot == 0 && !everything_ && (undecided & due & units_) != 0) {
      provisional = selected | (undecided & due);
    }
    if (selected == 0 && !everything_ && provisional == 0) continue;
    key.slot = slot;
    key.dtype = static_cast<uint8_t>(execution.outputs[slot].dtype);
    key.flags = FlagsOf(execution, execution.outputs[slot], point.step);
    const SampledTensor sampled(execution.outputs[slot], settings_.samples);
    const graphdbg_tensor& tensor = sampled.tensor();
    const CollectionMask chosen =
        provisional != 0 ? selected | undecided : selected;
    Measured measured;
    const bool compares = Compares(tensor, selected, key, /*bound=*/false);
    if ((compares || NeedsValues(chosen) ||
         !MeasureLater(tensor, execution.grad_scale, chosen, provisional,
                       &key)) &&
        Measure(tensor, execution.grad_scale, chosen, &key, &measured)) {
      measured.count = CountOf(execution.outputs[slot]);
      if (compares) Compare(tensor, key, /*bound=*/false, &measured);
      if (provisional != 0) {
        AppendLater(key, measured, provisional);
      } else {
        AppendOrWait(key, measured, selected);
      }
    }
    SaveValues(tensor, execution.grad_scale, selected,
               slot == 0 ? undecided & due : 0, key);
  }
  CountMeasuring(begin);
}

void Recorder::CountMeasuring(Clock::time_point begin) {
  const auto time =
      std::chrono::duration_cast<nanoseconds>(Clock::now() - begin);
  measuring_ns_ += static_cast<uint64_t>(time.count());
  if (times_ops()) parts_.overview->op_timer().Exclude(time);
}

uint64_t Recorder::PassOf(const Execution& execution) const {
  // Forward and backward passes whose gradients accumulate are passes of the
  // step, without marks of their own. The optimizer comes behind all of them.
  const bool in_step = !in_pass_ && !collections_.InOptimizer(execution.node);
  return in_step ? std::max<uint64_t>(execution.micro_step, 1) : pass_.load();
}

uint16_t Recorder::FlagsOf(const Execution& execution,
                           const graphdbg_tensor& tensor, uint64_t step) const {
  uint16_t flags = 0;
  if (tensor.device != GRAPHDBG_CPU) flags |= runs::kFlagDevice;
  if (IsView(execution, tensor)) flags |= runs::kFlagView;
  const NodeFacts* const facts = parts_.nodes->Facts(execution.node);
  if (facts->InfinitiesAreIntentional(step)) {
    flags |= runs::kFlagIntentionalInfinities;
  }
  return flags;
}

bool Recorder::MeasureLater(const graphdbg_tensor& tensor, double grad_scale,
                            CollectionMask selected, CollectionMask provisional,
                            RecordKey* key) {
  if (tensor.device == GRAPHDBG_CPU || !HasValues(tensor)) return false;
  RecordKey later = *key;
  if (!everything_ && (selected & full_) == 0) later.flags |= runs::kFlagLight;
  return device_records_.Begin(
      tensor, later, grad_scale, provisional,
      [this](const DeviceRecords::Result& result) { Take(result); });
}

void Recorder::FinishDevices(bool waits) {
  device_records_.Finish(
      [this](const DeviceRecords::Result& result) { Take(result); });
  SaveDeviceValues(waits);
}

void Recorder::Take(const DeviceRecords::Result& result) {
  const Measured measured = {result.statistics, result.grad_scale, {}, {}, 0,
                             std::nullopt};
  if (result.provisional != 0) {
    AppendLater(result.key, measured, result.provisional);
  } else {
    Append(result.key, measured, /*collections=*/0);
  }
}

void Recorder::AppendLater(const RecordKey& key, const Measured& measured,
                           CollectionMask collections) {
  MutexLock lock(&provisional_mu_);
  provisional_.push_back({key, measured, collections});
}

bool Recorder::Measure(const graphdbg_tensor& tensor, double grad_scale,
                       CollectionMask selected, RecordKey* key, Measured* to) {
  if (!HasValues(tensor)) return false;
  const TensorAccess access(parts_.devices, tensor, /*running=*/true);
  if (!access.ok()) return false;
  const bool light = !everything_ && (selected & full_) == 0;
  if (!ComputeAll(ViewOf(tensor), access.backend(), light, &to->statistics)) {
    return false;
  }
  if (light) key->flags |= runs::kFlagLight;
  if (grad_scale != 1) to->statistics.DivideBy(grad_scale);
  to->grad_scale = grad_scale;
  if (IsShown(parts_.overview) && RoleOf(selected) != 0) {
    to->quantiles = QuantilesOf(tensor);
  }
  Reduce(tensor, access.backend(), selected, to);
  return true;
}

void Recorder::AppendOrWait(const RecordKey& key, const Measured& measured,
                            CollectionMask collections) {
  if (settings_.block) WaitUntil([this] { return recording_->HasRoom(); });
  Append(key, measured, collections);
}

void Recorder::Append(const RecordKey& key, const Measured& measured,
                      CollectionMask collections) {
  if (recording_->AppendStatistics(key, measured.statistics,
                                   measured.grad_scale)) {
    ++records_;
  }
  if (measured.change && recording_->AppendChange(key, *measured.change)) {
    ++records_;
  }
  for (const CountedUnits& each : measured.units) {
    if ((each.collections & collections) == 0) continue;
    if (recording_->AppendUnits(key, each.recorded)) ++records_;
  }
  if (IsShown(parts_.overview)) AddToOverview(key, measured);
}

v1::OverviewRole Recorder::RoleOf(CollectionMask collections) const {
  // A loss that is also the result of a module is a loss.
  for (const auto role :
       {v1::OVERVIEW_ROLE_LOSS, v1::OVERVIEW_ROLE_GRADIENT,
        v1::OVERVIEW_ROLE_WEIGHT, v1::OVERVIEW_ROLE_ACTIVATION}) {
    if ((collections & roles_[static_cast<size_t>(role)]) != 0) return role;
  }
  return v1::OVERVIEW_ROLE_UNSPECIFIED;
}

void Recorder::AddToOverview(const RecordKey& key, const Measured& measured) {
  // Evaluations within a step have other inputs, and would hide those of the
  // step.
  if (in_pass_) return;
  Overview::Tensor tensor;
  tensor.role = RoleOf(collections_.Of(key.node, key.slot));
  if (tensor.role == v1::OVERVIEW_ROLE_UNSPECIFIED) return;
  tensor.node = key.node;
  tensor.count = std::max(measured.count, measured.statistics.count);
  tensor.statistics = measured.statistics;
  tensor.change = measured.change;
  tensor.quantiles = measured.quantiles;
  parts_.overview->Add(tensor);
}

void Recorder::WaitUntil(absl::FunctionRef<bool()> has_room) {
  if (has_room()) return;
  void* const token = parts_.host->BeginWait();
  // Wakes the thread that makes room.
  recording_->GraphChanged();
  while (!has_room() && waited_ms_ < kLongestWait.count() &&
         !parts_.host->Interrupted(token)) {
    std::this_thread::sleep_for(kWaitInterval);
    waited_ms_ += kWaitInterval.count();
  }
  parts_.host->EndWait(token);
}

void Recorder::RecordBound(uint64_t step, const Phase& phase) {
  if (due_ == 0 && !everything_) return;
  const Clock::time_point begin = Clock::now();
  BoundTensor bound;
  for (const auto& [node, handle] : parts_.bindings->All()) {
    const CollectionMask selected = collections_.Of(node, 0) & due_;
    // Inputs are recorded when the program's model receives them.
    if ((selected == 0 && !everything_) ||
        parts_.nodes->InfoOf(node).kind == GRAPHDBG_INPUT ||
        !ResolveBound(*parts_.host, handle, &bound)) {
      continue;
    }
    const SampledTensor sampled(bound.tensor, settings_.samples);
    const graphdbg_tensor& tensor = sampled.tensor();
    RecordKey key = KeyOf(phase);
    key.step = step;
    key.pass = 1;
    key.node = node;
    key.exec_order = parts_.counter->NextOrder();
    key.dtype = static_cast<uint8_t>(tensor.dtype);
    if (tensor.device != GRAPHDBG_CPU) key.flags |= runs::kFlagDevice;
    Measured measured;
    const bool compares = Compares(tensor, selected, key, /*bound=*/true);
    if ((compares || !MeasureLater(tensor, 1, selected,
                                   /*provisional=*/0, &key)) &&
        Measure(tensor, 1, selected, &key, &measured)) {
      measured.count = CountOf(bound.tensor);
      if (compares) Compare(tensor, key, /*bound=*/true, &measured);
      AppendOrWait(key, measured, selected);
    }
    SaveValues(tensor, 1, selected, /*undecided=*/0, key);
  }
  CountMeasuring(begin);
}

void Recorder::Decide() {
  collections_.Decide([this](uint32_t node, CollectionMask selected) {
    parts_.nodes->Facts(node)->Set(kRecorded, Usable(selected) != 0);
  });
  std::vector<Provisional> provisional;
  {
    MutexLock lock(&provisional_mu_);
    provisional.swap(provisional_);
  }
  for (const Provisional& each : provisional) {
    const CollectionMask decided =
        collections_.Of(each.key.node, 0) & each.collections;
    if (decided != 0) AppendOrWait(each.key, each.measured, decided);
  }
  SaveProvisional();
  for (const std::string& line : collections_.TakeLines()) {
    recording_->AddCollectionLine(line);
    undescribed_ = true;
  }
}

}  // namespace graphdbg::agent
