// What is known of one tensor when conditions are tested.
#ifndef AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_
#define AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "agent/kernels/sketch.h"
#include "agent/kernels/statistics.h"
#include "agent/kernels/statistics_backend.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::conditions {

// What has to be at hand before a condition can be tested.
struct Needs {
  // More than whether all elements are finite.
  bool statistics = false;
  // The tensor's value a step earlier.
  bool previous = false;

  void Add(const Needs& other) {
    statistics |= other.statistics;
    previous |= other.previous;
  }
};

// What a light pass over a tensor showed.
struct ScanResult {
  // False: not known to be.
  bool all_finite = false;
  std::optional<Sketch> sketch;
};

// Each thing is measured once, when it is first asked for. One thread.
// Allocates nothing, except for complex tensors, of which real and imaginary
// parts are the elements.
class TensorMeasurements {
 public:
  // Of values now and a step earlier (null: not known); both must outlive
  // this. `step` is 0 before the first step.
  TensorMeasurements(const TensorView* now, const TensorView* previous,
                     uint64_t step);
  // Of what was measured elsewhere; `change` may be null.
  TensorMeasurements(const Statistics& statistics, const PairStatistics* change,
                     uint64_t step);
  ~TensorMeasurements();

  // The values are not in host memory: this measures them, and outlives this.
  // There is no light pass then. Called before Measure; null: they are.
  void set_backend(const StatisticsBackend* backend) { backend_ = backend; }

  // The values are this much too large: gradients of a loss that was scaled.
  // Statistics are those of the true ones. Called before Measure.
  void set_scale(double scale) { scale_ = scale; }

  // To be called first. Takes a light pass, and statistics only if there is
  // something to measure that it does not see: NaN or infinities, or a type
  // that has no sketch. What `known` tells of these values takes the place of a
  // pass. False if the tensor's values cannot be read.
  bool Measure(const Needs& needs, const ScanResult& known = {});
  // After Measure.
  ScanResult scan_result() const { return {all_finite_, sketch_}; }

  uint64_t step() const { return step_; }
  // These need Measure to have succeeded.
  bool all_finite() const { return all_finite_; }
  // Null if there is none, or statistics are at hand.
  const Sketch* sketch() const {
    return sketch_ && !measured_ ? &*sketch_ : nullptr;
  }
  // Measured when they are first asked for.
  const Statistics& statistics();
  bool has_previous() const { return previous_ != nullptr || change_; }

  // Null if there is no previous value of the same dtype and shape.
  const PairStatistics* change();
  // Absent if the values are not at hand, or as above.
  std::optional<uint64_t> CountInRange(double start, double end);
  // May stop counting at `enough`.
  std::optional<uint64_t> CountChanged(const Tolerance& tolerance,
                                       uint64_t enough);
  // Whether the device says that an op overflowed since it was last asked;
  // absent if it does not tell.
  std::optional<bool> TakeOverflowFlag();

 private:
  struct Parts;

  bool MeasureStatistics();
  void SeeParts();

  const TensorView* now_ = nullptr;
  const TensorView* previous_ = nullptr;
  const StatisticsBackend* backend_ = nullptr;
  const uint64_t step_;
  double scale_ = 1;
  bool all_finite_ = false;
  bool measured_ = false;
  bool compared_ = false;
  bool asked_flag_ = false;
  std::optional<bool> overflow_flag_;
  std::optional<Sketch> sketch_;
  Statistics statistics_;
  std::optional<PairStatistics> change_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_
