// The quantities that conditions compare.
#ifndef AGENT_CONDITIONS_MEASURE_H_
#define AGENT_CONDITIONS_MEASURE_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::conditions {

// A statistic, by the name that expressions and hits use.
struct Measure {
  const char* name;
  // "largest absolute value"
  const char* description;
  // It compares with the previous step.
  bool compares_steps;
  // NaN if it does not exist: no finite element, no previous value.
  double (*value)(TensorMeasurements* measurements);
  // Its bounds according to a sketch; null if sketches do not bound it.
  Interval (*bounds)(const Sketch& sketch);
  // Statistics are not sufficient: another pass over the values is needed.
  bool needs_values = false;
};

// In display order. Exists until the process ends. Any thread.
const std::vector<Measure>& Measures();
// Null if there is none.
const Measure* FindMeasure(absl::string_view name);

// Why a rule cannot use a measure that needs values.
std::string NotRecorded(absl::string_view measure);

// Measures with parameters. Each takes another pass over the tensor.

// Percentage of the elements within [start, end].
struct RangePercentage {
  double start;
  double end;

  bool operator==(const RangePercentage& other) const {
    return start == other.start && end == other.end;
  }
};
// mean |now - previous| / (mean |previous| + epsilon)
struct UpdateRatio {
  double epsilon;

  bool operator==(const UpdateRatio& other) const {
    return epsilon == other.epsilon;
  }
};
// How many elements are not close to their previous values. Only whether it is
// 0 is exact: counting stops early.
struct ChangedCount {
  Tolerance tolerance;

  bool operator==(const ChangedCount& other) const {
    return tolerance == other.tolerance;
  }
};

using Quantity =
    std::variant<const Measure*, RangePercentage, UpdateRatio, ChangedCount>;

enum class Relation { kGreater, kGreaterEqual, kLess, kLessEqual };

// One comparison. Comparisons with a number that does not exist are false.
struct Term {
  // Its key in what a condition was tested on.
  std::string name;
  Quantity quantity;
  Relation relation;
  double bound;
};

// NaN if it does not exist.
double ValueOf(const Quantity& quantity, TensorMeasurements* measurements);
// Its bounds according to the sketch, if it exists. They may be infinite.
Interval BoundsOf(const Measure& measure,
                  const TensorMeasurements& measurements);
Interval BoundsOf(const Quantity& quantity,
                  const TensorMeasurements& measurements);
// Whether sketches bound it.
bool IsBoundedBySketch(const Quantity& quantity);
bool NeedsPrevious(const Quantity& quantity);
// Whether it can be derived from statistics, without the values.
bool IsStatistic(const Quantity& quantity);
// Whether it can only be derived from the values, and not from statistics of
// the tensor and of its change.
bool NeedsValues(const Quantity& quantity);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_MEASURE_H_
