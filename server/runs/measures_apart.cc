#include "server/runs/measures_apart.h"

#include <cmath>

namespace graphdbg::recorded {
namespace {

using runs::Record;
using runs::StatisticsFields;

struct Measure {
  const char* name;
  double StatisticsFields::*field;
};
struct Count {
  const char* name;
  uint64_t StatisticsFields::*field;
};
constexpr Count kCounts[] = {
    {"count", &StatisticsFields::count},
    {"nan_count", &StatisticsFields::nan_count},
    {"pos_inf_count", &StatisticsFields::pos_inf_count},
    {"neg_inf_count", &StatisticsFields::neg_inf_count}};
constexpr Measure kMeasures[] = {{"min", &StatisticsFields::min},
                                 {"max", &StatisticsFields::max},
                                 {"mean", &StatisticsFields::mean},
                                 {"abs_mean", &StatisticsFields::abs_mean},
                                 {"abs_max", &StatisticsFields::abs_max},
                                 {"variance", &StatisticsFields::variance},
                                 {"l1", &StatisticsFields::l1},
                                 {"l2", &StatisticsFields::l2}};

// The size to which a relative tolerance refers.
double SizeOf(const Measure& measure, const StatisticsFields& fields) {
  if (measure.field == &StatisticsFields::mean) {
    return std::abs(fields.abs_mean);
  }
  if (measure.field == &StatisticsFields::variance) {
    return fields.variance + fields.mean * fields.mean;
  }
  if (measure.field == &StatisticsFields::min ||
      measure.field == &StatisticsFields::max) {
    return std::abs(fields.abs_max);
  }
  return std::abs(fields.*measure.field);
}

// By how much a measure differs if all elements do by `difference`.
double FromElements(const Measure& measure, double difference, double size,
                    double count) {
  if (measure.field == &StatisticsFields::l1) return difference * count;
  if (measure.field == &StatisticsFields::l2) {
    return difference * std::sqrt(count);
  }
  if (measure.field == &StatisticsFields::variance) {
    // 2 E|x| d + d^2, and E|x| is at most the root of the mean of squares.
    return difference * (2 * std::sqrt(size) + difference);
  }
  return difference;
}

bool AreEqual(const Measure& measure, const StatisticsFields& a,
              const StatisticsFields& b, bool light,
              const Allowance& allowance) {
  const double x = a.*measure.field;
  const double y = b.*measure.field;
  if (x == y) return true;
  const bool x_absent = std::isnan(x);
  const bool y_absent = std::isnan(y);
  // A light record has only some of the measures.
  if (x_absent || y_absent) return (x_absent && y_absent) || light;
  if (std::isinf(x) || std::isinf(y)) return false;
  const double size = std::fmax(SizeOf(measure, a), SizeOf(measure, b));
  const double allowed = allowance.absolute + allowance.relative * size +
                         FromElements(measure, allowance.of_elements, size,
                                      static_cast<double>(a.count));
  return std::abs(x - y) <= allowed;
}

}  // namespace

std::optional<Apart> DigestsApart(const Record& here, const Record& there) {
  if (here.change.digest == there.change.digest) return std::nullopt;
  return Apart{"digest", here.change.digest, there.change.digest};
}

std::optional<Apart> MeasuresApart(const Record& here, const Record& there,
                                   const Allowance& allowance) {
  const StatisticsFields& a = here.statistics;
  const StatisticsFields& b = there.statistics;
  for (const Count& each : kCounts) {
    if (a.*each.field == b.*each.field) continue;
    return Apart{each.name, a.*each.field, b.*each.field};
  }
  const bool light = ((here.flags | there.flags) & runs::kFlagLight) != 0;
  for (const Measure& each : kMeasures) {
    if (AreEqual(each, a, b, light, allowance)) continue;
    return Apart{each.name, a.*each.field, b.*each.field};
  }
  return std::nullopt;
}

double RelativeDifference(const Record& here, const Record& there) {
  const StatisticsFields& a = here.statistics;
  const StatisticsFields& b = there.statistics;
  double largest = 0;
  for (const Measure& each : kMeasures) {
    const double apart = std::abs(a.*each.field - b.*each.field);
    if (apart == 0) continue;
    // The maximum with NaN is the other number.
    const double size = std::fmax(SizeOf(each, a), SizeOf(each, b));
    largest = std::fmax(largest, apart / size);
  }
  return largest;
}

}  // namespace graphdbg::recorded
