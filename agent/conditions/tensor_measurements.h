// Measurements of one tensor that conditions are tested on.
#ifndef AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_
#define AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "agent/kernels/quantiles.h"
#include "agent/kernels/sketch.h"
#include "agent/kernels/statistics.h"
#include "agent/kernels/statistics_backend.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::conditions {

// The measurements that a condition needs.
struct Needs {
  // More than whether all elements are finite.
  bool statistics = false;
  // The tensor's value in the previous step.
  bool previous = false;

  void Add(const Needs& other) {
    statistics |= other.statistics;
    previous |= other.previous;
  }
};

// The result of one quick pass over a tensor.
struct ScanResult {
  // False if some are not, or if it is not known.
  bool all_finite = false;
  std::optional<Sketch> sketch;
};

// Each property is measured once, when it is first needed. Used by one thread.
// Allocates nothing, except for complex tensors, whose elements are their real
// and imaginary parts, and for quantiles of large ones.
class TensorMeasurements {
 public:
  // Measures the current values. `previous` are those of the previous step;
  // null if they are not known. Both must outlive this. `step` is 0 before the
  // first step.
  TensorMeasurements(const TensorView* now, const TensorView* previous,
                     uint64_t step);
  // Uses measurements that were made elsewhere; `change` may be null.
  TensorMeasurements(const Statistics& statistics, const PairStatistics* change,
                     uint64_t step);
  ~TensorMeasurements();

  // The number of elements that are not close to their previous values by the
  // default Tolerance, if it was measured elsewhere.
  void set_changed_count(uint64_t count) { changed_count_ = count; }

  // Measures with this backend, which must outlive this, because the values are
  // not in host memory. There is then no quick pass. Null for host memory.
  // Called before Measure.
  void set_backend(const StatisticsBackend* backend) { backend_ = backend; }

  // The factor by which the values are too large, because they are gradients of
  // a scaled loss. Statistics are those of the unscaled values. Called before
  // Measure.
  void set_scale(double scale) { scale_ = scale; }

  // Must be called first. Makes a quick pass, and computes statistics only if
  // that is not sufficient: if there are NaN or infinities, or the type has no
  // sketch. If `known` has the result of an earlier pass, it is used instead.
  // Returns false if the tensor's values cannot be read.
  bool Measure(const Needs& needs, const ScanResult& known = {});
  // The result of the quick pass. Valid after Measure.
  ScanResult scan_result() const { return {all_finite_, sketch_}; }

  uint64_t step() const { return step_; }
  // The following are valid only if Measure succeeded.
  bool all_finite() const { return all_finite_; }
  // Null if there is none, or if statistics were computed.
  const Sketch* sketch() const {
    return sketch_ && !measured_ ? &*sketch_ : nullptr;
  }
  // Computed on the first call.
  const Statistics& statistics();
  bool has_previous() const { return previous_ != nullptr || change_; }

  // Null if there is no finite element, or the values are not available. Takes
  // another pass, on the first call.
  const Quantiles* quantiles();
  // The finite elements are within; absent if that takes a pass, or there are
  // none.
  std::optional<Interval> range() const;

  // Null if there is no previous value of the same dtype and shape.
  const PairStatistics* change();
  // Absent if the values are not available, or there is no comparable previous
  // value.
  std::optional<uint64_t> CountInRange(double start, double end);
  // May stop counting at `enough`.
  std::optional<uint64_t> CountChanged(const Tolerance& tolerance,
                                       uint64_t enough);
  // Whether an op overflowed since the device's flag was last read; absent if
  // the device has no such flag.
  std::optional<bool> TakeOverflowFlag();

  // The measured tensors; null if only statistics are known. Complex tensors
  // themselves, rather than their parts.
  const TensorView* now() const { return given_now_; }
  const TensorView* previous() const { return given_previous_; }
  const StatisticsBackend* backend() const { return backend_; }
  double scale() const { return scale_; }

 private:
  struct Parts;

  bool MeasureStatistics();
  void UseComplexParts();

  const TensorView* const given_now_ = nullptr;
  const TensorView* const given_previous_ = nullptr;
  const TensorView* now_ = nullptr;
  const TensorView* previous_ = nullptr;
  const StatisticsBackend* backend_ = nullptr;
  const uint64_t step_;
  double scale_ = 1;
  bool all_finite_ = false;
  bool measured_ = false;
  bool compared_ = false;
  std::optional<uint64_t> changed_count_;
  bool read_flag_ = false;
  std::optional<bool> overflow_flag_;
  std::optional<Sketch> sketch_;
  Statistics statistics_;
  bool looked_for_quantiles_ = false;
  std::optional<Quantiles> quantiles_;
  std::optional<PairStatistics> change_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_TENSOR_MEASUREMENTS_H_
