// The quantities that rules compare: those of conditions, and some more.
#ifndef SERVER_RUNS_RULE_MEASURES_H_
#define SERVER_RUNS_RULE_MEASURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/conditions/tensor_measurements.h"
#include "proto/runs/record.h"

namespace graphdbg::recorded {

// All names; a measure is identified by its place. The additional ones are
//   value                 the mean of a tensor with one element
//   changed_count         elements that are not close to their previous values
//   idle_unit_percentage  percentage of units that are idle
//   step, mode_step       numbers of the step
//   step_seconds          how long the step took
const std::vector<std::string>& RuleMeasureNames();

// Whether it describes a step, and not only a tensor.
bool DescribesStep(uint32_t measure);
// Whether it describes a step, and no tensor.
bool DescribesOnlyStep(uint32_t measure);

// The records of one execution of an op that concern one tensor.
class ObservedTensor {
 public:
  // `change` and `units` may be null. All must outlive this. `mode_step` is 0
  // if it is not known.
  ObservedTensor(const runs::Record& statistics, const runs::Record* change,
                 const runs::Record* units, uint64_t mode_step);

  // NaN if it is unknown.
  double Value(uint32_t measure);

 private:
  const runs::Record& record_;
  const runs::Record* const change_;
  const runs::Record* const units_;
  const uint64_t mode_step_;
  conditions::TensorMeasurements measurements_;
};

struct ObservedStep {
  uint64_t step = 0;
  // 0 if it is not known.
  uint64_t mode_step = 0;
  // NaN if it is not known.
  double seconds = 0;

  // NaN if it is unknown, or describes tensors.
  double Value(uint32_t measure) const;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_MEASURES_H_
