#include "agent/conditions/measure.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "agent/conditions/bounds.h"

namespace graphdbg::conditions {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = 1e-9;

template <class T>
double Share(T part, const Statistics& s) {
  return s.count == 0
             ? kNone
             : 100 * static_cast<double>(part) / static_cast<double>(s.count);
}

template <uint64_t Statistics::*kCount>
double Count(TensorMeasurements* measurements) {
  return static_cast<double>(measurements->statistics().*kCount);
}

template <double Statistics::*kValue>
double Finite(TensorMeasurements* measurements) {
  const Statistics& s = measurements->statistics();
  return s.has_finite() ? s.*kValue : kNone;
}

template <double PairStatistics::*kValue>
double Change(TensorMeasurements* measurements) {
  const PairStatistics* change = measurements->change();
  return change != nullptr && change->finite_count > 0 ? change->*kValue
                                                       : kNone;
}

double InfCount(TensorMeasurements* measurements) {
  return static_cast<double>(measurements->statistics().inf_count());
}

double MaxMin(TensorMeasurements* measurements) {
  const Statistics& s = measurements->statistics();
  return s.has_finite() ? s.max - s.min : kNone;
}

double Deviation(TensorMeasurements* measurements) {
  return std::sqrt(Finite<&Statistics::variance>(measurements));
}

double ZeroPercentage(TensorMeasurements* measurements) {
  const Statistics& s = measurements->statistics();
  return Share(s.zero_count, s);
}

double InactivePercentage(TensorMeasurements* measurements) {
  const Statistics& s = measurements->statistics();
  return Share(s.zero_count + s.negative_count, s);
}

double Ratio(TensorMeasurements* measurements, double epsilon) {
  return Change<&PairStatistics::change_abs_mean>(measurements) /
         (Change<&PairStatistics::previous_abs_mean>(measurements) + epsilon);
}

double ChangeRatio(TensorMeasurements* measurements) {
  return Ratio(measurements, kEpsilon);
}

template <size_t kIndex>
double Quantile(TensorMeasurements* measurements) {
  const Quantiles* quantiles = measurements->quantiles();
  return quantiles == nullptr ? kNone : quantiles->values[kIndex];
}

// `kIndex` is the place in Quantiles::kPercents.
template <size_t kIndex>
Measure QuantileMeasure(const char* description) {
  return {Quantiles::kNames[kIndex], description, false,
          Quantile<kIndex>,          nullptr,     /*needs_values=*/true};
}

double Step(TensorMeasurements* measurements) {
  return static_cast<double>(measurements->step());
}

// According to minimum and maximum.
Interval BoundsOfPercentage(const RangePercentage& range,
                            const TensorMeasurements& measurements) {
  const std::optional<Interval> finite = measurements.range();
  // Empty tensors have neither.
  if (!finite || finite->lo > finite->hi || !measurements.all_finite()) {
    return bounds::kAnything;
  }
  return bounds::InRange(finite->lo, finite->hi, range.start, range.end);
}

struct Value {
  TensorMeasurements* measurements;

  double operator()(const Measure* measure) const {
    return measure->value(measurements);
  }
  double operator()(const RangePercentage& range) const {
    const Interval bounds = BoundsOfPercentage(range, *measurements);
    if (bounds.lo == bounds.hi) return bounds.lo;
    const auto found = measurements->CountInRange(range.start, range.end);
    return found ? Share(*found, measurements->statistics()) : kNone;
  }
  double operator()(const UpdateRatio& ratio) const {
    return Ratio(measurements, ratio.epsilon);
  }
  double operator()(const ChangedCount& changed) const {
    const auto found = measurements->CountChanged(changed.tolerance, 1);
    if (!found || (*found == 0 && measurements->statistics().count == 0)) {
      return kNone;
    }
    return static_cast<double>(*found);
  }
};

}  // namespace

const std::vector<Measure>& Measures() {
  using S = Statistics;
  using P = PairStatistics;
  static const auto* measures = new std::vector<Measure>{
      {"min", "minimum", false, Finite<&S::min>, bounds::Min},
      {"max", "maximum", false, Finite<&S::max>, bounds::Max},
      {"max_min", "difference between maximum and minimum", false, MaxMin,
       bounds::MaxMin},
      {"mean", "mean", false, Finite<&S::mean>, bounds::Mean},
      {"sd", "standard deviation", false, Deviation, bounds::Deviation},
      {"variance", "variance", false, Finite<&S::variance>, bounds::Variance},
      {"abs_max", "largest absolute value", false, Finite<&S::abs_max>,
       bounds::AbsMax},
      {"abs_mean", "mean absolute value", false, Finite<&S::abs_mean>,
       bounds::AbsMean},
      {"l1", "sum of absolute values", false, Finite<&S::l1>, bounds::L1},
      {"l2", "L2 norm", false, Finite<&S::l2>, bounds::L2},
      {"count", "number of elements", false, Count<&S::count>, bounds::Count},
      {"nan_count", "number of NaN", false, Count<&S::nan_count>, bounds::Zero},
      {"inf_count", "number of infinities", false, InfCount, bounds::Zero},
      {"pos_inf_count", "number of +infinities", false,
       Count<&S::pos_inf_count>, bounds::Zero},
      {"neg_inf_count", "number of -infinities", false,
       Count<&S::neg_inf_count>, bounds::Zero},
      {"zero_count", "number of zeros", false, Count<&S::zero_count>,
       bounds::ZeroCount},
      {"negative_count", "number of negative elements", false,
       Count<&S::negative_count>, bounds::NegativeCount},
      {"positive_count", "number of positive elements", false,
       Count<&S::positive_count>, bounds::PositiveCount},
      {"zero_percentage", "percentage of zeros", false, ZeroPercentage,
       bounds::ZeroPercentage},
      {"inactive_percentage",
       "percentage of elements that are zero or negative", false,
       InactivePercentage, bounds::InactivePercentage},
      {"change_abs_mean", "mean absolute change since the previous step", true,
       Change<&P::change_abs_mean>, nullptr},
      {"change_abs_max", "largest absolute change since the previous step",
       true, Change<&P::change_abs_max>, nullptr},
      {"change_l2", "L2 norm of the change since the previous step", true,
       Change<&P::change_l2>, nullptr},
      {"change_ratio",
       "mean absolute change relative to the mean absolute previous value",
       true, ChangeRatio, nullptr},
      {"previous_abs_mean", "mean absolute value in the previous step", true,
       Change<&P::previous_abs_mean>, nullptr},
      {"previous_l2", "L2 norm in the previous step", true,
       Change<&P::previous_l2>, nullptr},
      QuantileMeasure<0>("1 % of the elements are at most this"),
      QuantileMeasure<1>("5 % of the elements are at most this"),
      QuantileMeasure<2>("10 % of the elements are at most this"),
      QuantileMeasure<3>("25 % of the elements are at most this"),
      QuantileMeasure<4>("median: 50 % of the elements are at most this"),
      QuantileMeasure<5>("75 % of the elements are at most this"),
      QuantileMeasure<6>("90 % of the elements are at most this"),
      QuantileMeasure<7>("95 % of the elements are at most this"),
      QuantileMeasure<8>("99 % of the elements are at most this"),
      {"step", "step", false, Step, nullptr},
  };
  return *measures;
}

const Measure* FindMeasure(absl::string_view name) {
  for (const Measure& measure : Measures()) {
    if (name == measure.name) return &measure;
  }
  return nullptr;
}

std::string NotRecorded(absl::string_view measure) {
  return absl::StrCat(measure,
                      " is not recorded: quantiles are computed from values, "
                      "by conditions (graphdbg recheck) but not by rules");
}

Interval BoundsOf(const Measure& measure,
                  const TensorMeasurements& measurements) {
  const Sketch* sketch = measurements.sketch();
  if (measure.needs_values) {
    return measurements.range().value_or(bounds::kAnything);
  }
  if (measure.value == Step) {
    const double step = static_cast<double>(measurements.step());
    return {step, step};
  }
  if (sketch == nullptr || measure.bounds == nullptr) return bounds::kAnything;
  return measure.bounds(*sketch);
}

Interval BoundsOf(const Quantity& quantity,
                  const TensorMeasurements& measurements) {
  if (const auto* measure = std::get_if<const Measure*>(&quantity)) {
    return BoundsOf(**measure, measurements);
  }
  const auto* range = std::get_if<RangePercentage>(&quantity);
  return range == nullptr ? bounds::kAnything
                          : BoundsOfPercentage(*range, measurements);
}

bool IsBoundedBySketch(const Quantity& quantity) {
  const auto* measure = std::get_if<const Measure*>(&quantity);
  return std::holds_alternative<RangePercentage>(quantity) ||
         (measure != nullptr && !(*measure)->needs_values &&
          (*measure)->bounds != nullptr);
}

double ValueOf(const Quantity& quantity, TensorMeasurements* measurements) {
  return std::visit(Value{measurements}, quantity);
}

bool IsStatistic(const Quantity& quantity) {
  const auto* measure = std::get_if<const Measure*>(&quantity);
  return measure != nullptr && !(*measure)->compares_steps &&
         !(*measure)->needs_values;
}

bool NeedsValues(const Quantity& quantity) {
  const auto* changed = std::get_if<ChangedCount>(&quantity);
  const auto* measure = std::get_if<const Measure*>(&quantity);
  return (measure != nullptr && (*measure)->needs_values) ||
         std::holds_alternative<RangePercentage>(quantity) ||
         (changed != nullptr && !(changed->tolerance == Tolerance()));
}

bool NeedsPrevious(const Quantity& quantity) {
  if (const auto* measure = std::get_if<const Measure*>(&quantity)) {
    return (*measure)->compares_steps;
  }
  return !std::holds_alternative<RangePercentage>(quantity);
}

}  // namespace graphdbg::conditions
