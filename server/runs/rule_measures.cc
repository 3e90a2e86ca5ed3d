#include "server/runs/rule_measures.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/conditions/measure.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Behind the measures of conditions.
enum class Extra { kValue, kChangedCount, kIdleUnits, kModeStep, kStepSeconds };
constexpr std::array<const char*, 5> kExtraNames = {
    "value", "changed_count", "idle_unit_percentage", "mode_step",
    "step_seconds"};
// Light records do not have the counts that these need.
constexpr std::array<std::string_view, 5> kNotInLightRecords = {
    "zero_count", "negative_count", "positive_count", "zero_percentage",
    "inactive_percentage"};

// The measures of conditions that statistics are sufficient for.
const std::vector<const conditions::Measure*>& Recorded() {
  static const auto* recorded = [] {
    auto* some = new std::vector<const conditions::Measure*>;
    for (const conditions::Measure& measure : conditions::Measures()) {
      if (!measure.needs_values) some->push_back(&measure);
    }
    return some;
  }();
  return *recorded;
}

std::optional<Extra> ExtraOf(uint32_t measure) {
  const size_t conditions = Recorded().size();
  if (measure < conditions) return std::nullopt;
  return static_cast<Extra>(measure - conditions);
}

bool IsStepNumber(uint32_t measure) {
  return RuleMeasureNames()[measure] == "step";
}

double Known(uint64_t mode_step) {
  return mode_step == 0 ? kUnknown : static_cast<double>(mode_step);
}

Statistics CountedStatistics(const runs::Record& record) {
  Statistics statistics = KernelStatisticsOf(record.statistics);
  if ((record.flags & runs::kFlagIntentionalInfinities) != 0) {
    statistics.pos_inf_count = 0;
    statistics.neg_inf_count = 0;
  }
  return statistics;
}

conditions::TensorMeasurements MeasurementsOf(const runs::Record& record,
                                              const runs::Record* change) {
  const Statistics statistics = CountedStatistics(record);
  if (change == nullptr) return {statistics, nullptr, record.step};
  const PairStatistics pair = PairStatisticsOf(change->change);
  return {statistics, &pair, record.step};
}

}  // namespace

const std::vector<std::string>& RuleMeasureNames() {
  static const auto* names = [] {
    auto* all = new std::vector<std::string>;
    for (const conditions::Measure* measure : Recorded()) {
      all->push_back(measure->name);
    }
    all->insert(all->end(), kExtraNames.begin(), kExtraNames.end());
    return all;
  }();
  return *names;
}

bool DescribesStep(uint32_t measure) {
  return IsStepNumber(measure) || ExtraOf(measure) == Extra::kModeStep ||
         DescribesOnlyStep(measure);
}

bool DescribesOnlyStep(uint32_t measure) {
  return ExtraOf(measure) == Extra::kStepSeconds;
}

ObservedTensor::ObservedTensor(const runs::Record& statistics,
                               const runs::Record* change,
                               const runs::Record* units, uint64_t mode_step)
    : record_(statistics),
      change_(change),
      units_(units),
      mode_step_(mode_step),
      measurements_(MeasurementsOf(statistics, change)) {}

double ObservedTensor::Value(uint32_t measure) {
  const auto extra = ExtraOf(measure);
  if (!extra) {
    const conditions::Measure& known = *Recorded()[measure];
    if ((record_.flags & runs::kFlagLight) != 0 &&
        std::find(kNotInLightRecords.begin(), kNotInLightRecords.end(),
                  known.name) != kNotInLightRecords.end()) {
      return kUnknown;
    }
    return known.value(&measurements_);
  }
  switch (*extra) {
    case Extra::kValue:
      return record_.statistics.count == 1 ? record_.statistics.mean : kUnknown;
    case Extra::kChangedCount:
      return change_ == nullptr || change_->change.count == 0
                 ? kUnknown
                 : static_cast<double>(change_->change.changed_count);
    case Extra::kIdleUnits:
      return units_ == nullptr || units_->units.units == 0
                 ? kUnknown
                 : 100.0 * units_->units.idle_units / units_->units.units;
    case Extra::kModeStep:
      return Known(mode_step_);
    case Extra::kStepSeconds:
      break;
  }
  return kUnknown;
}

double ObservedStep::Value(uint32_t measure) const {
  if (IsStepNumber(measure)) return static_cast<double>(step);
  if (ExtraOf(measure) == Extra::kModeStep) return Known(mode_step);
  return DescribesOnlyStep(measure) ? seconds : kUnknown;
}

}  // namespace graphdbg::recorded
