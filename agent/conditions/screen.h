#ifndef AGENT_CONDITIONS_SCREEN_H_
#define AGENT_CONDITIONS_SCREEN_H_

#include <vector>

#include "agent/conditions/measure.h"
#include "agent/conditions/predicate.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::conditions {

// Rules out many conditions at once: of those that compare the same quantity,
// only the bounds that are reached first are looked at.
class Screen {
 public:
  // Returns false, without effect, if the condition needs a test of its own.
  bool Add(const Predicate& predicate);
  // Whether the tensor's sketch rules out all conditions that were added. False
  // if it has none.
  bool RulesOut(const TensorMeasurements& measurements) const;

 private:
  struct Limit {
    double bound;
    // Whether a condition holds at the bound itself.
    bool inclusive;
  };
  // A condition may hold for values up to `low` and from `high` on.
  struct Limits {
    Quantity quantity;
    // Its bounds, if a sketch suffices to compute them.
    Interval (*bounds)(const Sketch&);
    Limit low;
    Limit high;
  };

  void Add(const Term& term);
  Limits* LimitsOf(const Quantity& quantity);

  std::vector<Limits> limits_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SCREEN_H_
