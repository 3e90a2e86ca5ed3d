#include "agent/conditions/measure.h"

#include <cmath>
#include <limits>

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
double Count(Evidence* evidence) {
  return static_cast<double>(evidence->statistics().*kCount);
}

template <double Statistics::*kValue>
double Finite(Evidence* evidence) {
  const Statistics& s = evidence->statistics();
  return s.has_finite() ? s.*kValue : kNone;
}

template <double PairStatistics::*kValue>
double Change(Evidence* evidence) {
  const PairStatistics* change = evidence->change();
  return change != nullptr && change->finite_count > 0 ? change->*kValue
                                                       : kNone;
}

double InfCount(Evidence* evidence) {
  return static_cast<double>(evidence->statistics().inf_count());
}

double MaxMin(Evidence* evidence) {
  const Statistics& s = evidence->statistics();
  return s.has_finite() ? s.max - s.min : kNone;
}

double Deviation(Evidence* evidence) {
  return std::sqrt(Finite<&Statistics::variance>(evidence));
}

double ZeroPercentage(Evidence* evidence) {
  const Statistics& s = evidence->statistics();
  return Share(s.zero_count, s);
}

double InactivePercentage(Evidence* evidence) {
  const Statistics& s = evidence->statistics();
  return Share(s.zero_count + s.negative_count, s);
}

double Ratio(Evidence* evidence, double epsilon) {
  return Change<&PairStatistics::change_abs_mean>(evidence) /
         (Change<&PairStatistics::previous_abs_mean>(evidence) + epsilon);
}

double ChangeRatio(Evidence* evidence) { return Ratio(evidence, kEpsilon); }

double Step(Evidence* evidence) {
  return static_cast<double>(evidence->step());
}

struct Value {
  Evidence* evidence;

  double operator()(const Measure* measure) const {
    return measure->value(evidence);
  }
  double operator()(const RangePercentage& range) const {
    const auto found = evidence->CountInRange(range.start, range.end);
    return found ? Share(*found, evidence->statistics()) : kNone;
  }
  double operator()(const UpdateRatio& ratio) const {
    return Ratio(evidence, ratio.epsilon);
  }
  double operator()(const ChangedCount& changed) const {
    if (evidence->statistics().count == 0) return kNone;
    const auto found = evidence->CountChanged(changed.tolerance);
    return found ? static_cast<double>(*found) : kNone;
  }
};

}  // namespace

const std::vector<Measure>& Measures() {
  using S = Statistics;
  using P = PairStatistics;
  static const auto* measures = new std::vector<Measure>{
      {"min", "minimum", false, Finite<&S::min>},
      {"max", "maximum", false, Finite<&S::max>},
      {"max_min", "difference of maximum and minimum", false, MaxMin},
      {"mean", "mean", false, Finite<&S::mean>},
      {"sd", "standard deviation", false, Deviation},
      {"variance", "variance", false, Finite<&S::variance>},
      {"abs_max", "largest absolute value", false, Finite<&S::abs_max>},
      {"abs_mean", "mean absolute value", false, Finite<&S::abs_mean>},
      {"l1", "sum of the absolute values", false, Finite<&S::l1>},
      {"l2", "root of the sum of squares", false, Finite<&S::l2>},
      {"count", "number of elements", false, Count<&S::count>},
      {"nan_count", "number of NaN", false, Count<&S::nan_count>},
      {"inf_count", "number of infinities", false, InfCount},
      {"pos_inf_count", "number of +infinities", false,
       Count<&S::pos_inf_count>},
      {"neg_inf_count", "number of -infinities", false,
       Count<&S::neg_inf_count>},
      {"zero_count", "number of zeros", false, Count<&S::zero_count>},
      {"negative_count", "number of finite elements below zero", false,
       Count<&S::negative_count>},
      {"positive_count", "number of finite elements above zero", false,
       Count<&S::positive_count>},
      {"zero_percentage", "share of zeros in %", false, ZeroPercentage},
      {"inactive_percentage", "share of elements not above zero in %", false,
       InactivePercentage},
      {"change_abs_mean", "mean absolute change since the previous step", true,
       Change<&P::change_abs_mean>},
      {"change_abs_max", "largest absolute change since the previous step",
       true, Change<&P::change_abs_max>},
      {"change_l2", "root of the sum of the squared changes", true,
       Change<&P::change_l2>},
      {"change_ratio", "mean absolute change over the mean absolute old value",
       true, ChangeRatio},
      {"previous_abs_mean", "mean absolute value of the previous step", true,
       Change<&P::previous_abs_mean>},
      {"previous_l2", "root of the sum of squares of the previous step", true,
       Change<&P::previous_l2>},
      {"step", "step", false, Step},
  };
  return *measures;
}

const Measure* FindMeasure(absl::string_view name) {
  for (const Measure& measure : Measures()) {
    if (name == measure.name) return &measure;
  }
  return nullptr;
}

double ValueOf(const Quantity& quantity, Evidence* evidence) {
  return std::visit(Value{evidence}, quantity);
}

bool NeedsPrevious(const Quantity& quantity) {
  if (const auto* measure = std::get_if<const Measure*>(&quantity)) {
    return (*measure)->of_change;
  }
  return !std::holds_alternative<RangePercentage>(quantity);
}

}  // namespace graphdbg::conditions
