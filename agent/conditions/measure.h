// The numbers that conditions compare.
#ifndef AGENT_CONDITIONS_MEASURE_H_
#define AGENT_CONDITIONS_MEASURE_H_

#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::conditions {

// A statistic by its name, as expressions and hits have it.
struct Measure {
  const char* name;
  // "largest absolute value"
  const char* words;
  bool compares_steps;
  // NaN where it does not exist: no finite element, no previous value.
  double (*value)(TensorMeasurements* measurements);
  // Between what a sketch says that it is; null: it says nothing.
  Interval (*bounds)(const Sketch& sketch);
};

// In the order in which people should see them. Lives for ever; any thread.
const std::vector<Measure>& Measures();
// Null if there is none.
const Measure* FindMeasure(absl::string_view name);

// Measures with parameters: each is one more pass over the tensor.

// Share of the elements within [start, end], of 100.
struct RangePercentage {
  double start;
  double end;
};
// mean |now - previous| / (mean |previous| + epsilon)
struct UpdateRatio {
  double epsilon;
};
// How many elements are not close to what they were a step earlier; any number
// above 0 where it is not 0.
struct ChangedCount {
  Tolerance tolerance;
};

using Quantity =
    std::variant<const Measure*, RangePercentage, UpdateRatio, ChangedCount>;

// NaN where it does not exist.
double ValueOf(const Quantity& quantity, TensorMeasurements* measurements);
// Between what the evidence's sketch says that it is, if it exists. The ends
// may be infinite.
Interval BoundsOf(const Measure& measure,
                  const TensorMeasurements& measurements);
Interval BoundsOf(const Quantity& quantity,
                  const TensorMeasurements& measurements);
bool NeedsPrevious(const Quantity& quantity);
// Whether it can be told from statistics alone, without the values.
bool IsStatistic(const Quantity& quantity);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_MEASURE_H_
