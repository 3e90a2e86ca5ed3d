#include "agent/conditions/tensor_measurements.h"

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/pairs.h"
#include "agent/kernels/cpu/quantiles.h"
#include "agent/kernels/cpu/sketch.h"
#include "agent/tensor/complex_parts.h"

namespace graphdbg::conditions {

struct TensorMeasurements::Parts {
  ComplexParts now;
  ComplexParts previous;
  TensorView now_view;
  TensorView previous_view;
};

TensorMeasurements::TensorMeasurements(const TensorView* now,
                                       const TensorView* previous,
                                       uint64_t step)
    : given_now_(now),
      given_previous_(previous),
      now_(now),
      previous_(previous),
      step_(step) {}

TensorMeasurements::~TensorMeasurements() = default;

void TensorMeasurements::UseComplexParts() {
  parts_ = std::make_unique<Parts>();
  parts_->now_view = parts_->now.AsReal(*now_);
  now_ = &parts_->now_view;
  if (previous_ == nullptr || !ComplexParts::IsApplicable(*previous_)) return;
  parts_->previous_view = parts_->previous.AsReal(*previous_);
  previous_ = &parts_->previous_view;
}

TensorMeasurements::TensorMeasurements(const Statistics& statistics,
                                       const PairStatistics* change,
                                       uint64_t step)
    : step_(step),
      all_finite_(statistics.finite_count() == statistics.count),
      measured_(true),
      compared_(true),
      statistics_(statistics) {
  if (change != nullptr) change_ = *change;
}

bool TensorMeasurements::Measure(const Needs& needs, const ScanResult& known) {
  if (measured_) return true;
  if (ComplexParts::IsApplicable(*now_)) UseComplexParts();
  if (backend_ != nullptr) return MeasureStatistics();
  if (needs.statistics) {
    // Sketches cannot be scaled.
    if (scale_ == 1) {
      sketch_ = known.sketch ? known.sketch : cpu::ComputeSketch(*now_);
    }
    all_finite_ = sketch_.has_value();
  } else if (known.all_finite) {
    all_finite_ = true;
  } else {
    const std::optional<bool> finite = cpu::AllFinite(*now_);
    if (!finite) return false;
    all_finite_ = *finite;
  }
  if (all_finite_) return true;
  return MeasureStatistics();
}

bool TensorMeasurements::MeasureStatistics() {
  const bool found = backend_ != nullptr
                         ? backend_->ComputeStatistics(*now_, &statistics_)
                         : cpu::ComputeStatistics(*now_, &statistics_);
  if (!found) return false;
  measured_ = true;
  if (scale_ != 1) statistics_.DivideBy(scale_);
  all_finite_ = statistics_.finite_count() == statistics_.count;
  return true;
}

const Statistics& TensorMeasurements::statistics() {
  if (!measured_) MeasureStatistics();
  return statistics_;
}

const Quantiles* TensorMeasurements::quantiles() {
  if (!looked_for_quantiles_ && now_ != nullptr && statistics().has_finite()) {
    const double min = statistics_.min * scale_, max = statistics_.max * scale_;
    Quantiles quantiles;
    if (backend_ != nullptr
            ? backend_->ComputeQuantiles(*now_, min, max, &quantiles)
            : cpu::ComputeQuantiles(*now_, min, max, &quantiles)) {
      quantiles_ = quantiles;
      if (scale_ != 1) quantiles_->DivideBy(scale_);
    }
  }
  looked_for_quantiles_ = true;
  return quantiles_ ? &*quantiles_ : nullptr;
}

std::optional<Interval> TensorMeasurements::range() const {
  if (measured_ && statistics_.has_finite()) {
    return Interval{statistics_.min, statistics_.max};
  }
  if (sketch_) return Interval{sketch_->min, sketch_->max};
  return std::nullopt;
}

const PairStatistics* TensorMeasurements::change() {
  if (!compared_ && previous_ != nullptr) {
    PairStatistics change;
    const bool found = backend_ != nullptr
                           ? backend_->ComparePair(*now_, *previous_, &change)
                           : cpu::ComparePair(*now_, *previous_, &change);
    if (found) change_ = change;
    if (change_ && scale_ != 1) change_->DivideBy(scale_);
  }
  compared_ = true;
  return change_ ? &*change_ : nullptr;
}

std::optional<uint64_t> TensorMeasurements::CountInRange(double start,
                                                         double end) {
  if (now_ == nullptr) return std::nullopt;
  if (backend_ != nullptr) {
    return backend_->CountInRange(*now_, start * scale_, end * scale_);
  }
  return cpu::CountInRange(*now_, start * scale_, end * scale_);
}

std::optional<uint64_t> TensorMeasurements::CountChanged(
    const Tolerance& tolerance, uint64_t enough) {
  if (changed_count_ && tolerance == Tolerance()) return changed_count_;
  if (now_ == nullptr || previous_ == nullptr) return std::nullopt;
  if (backend_ != nullptr) {
    return backend_->CountChanged(*now_, *previous_, tolerance);
  }
  return cpu::CountChanged(*now_, *previous_, tolerance, enough);
}

std::optional<bool> TensorMeasurements::TakeOverflowFlag() {
  if (!read_flag_ && backend_ != nullptr) {
    overflow_flag_ = backend_->TakeOverflowFlag();
  }
  read_flag_ = true;
  return overflow_flag_;
}

}  // namespace graphdbg::conditions
