// A condition with its parameters, ready to be tested.
#ifndef AGENT_CONDITIONS_PREDICATE_H_
#define AGENT_CONDITIONS_PREDICATE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/conditions/expression.h"
#include "agent/conditions/measure.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::conditions {

// What was found, by name: the counts or the numbers that were compared.
using Actual = std::map<std::string, double>;

enum class Outcome {
  kNotMatched,
  kMatched,
  // It compares with the previous step, and that value is not known.
  kNoPrevious,
  // It asks the device whether the op overflowed, which does not tell.
  kNoFlag,
};

enum class Relation { kGreater, kGreaterEqual, kLess, kLessEqual };

// One comparison. Numbers that do not exist compare as false.
struct Term {
  // In Actual.
  std::string name;
  Quantity quantity;
  Relation relation;
  double bound;
};

// Free to copy. Testing allocates nothing unless `actual` is asked for; any
// thread.
class Predicate {
 public:
  // Met by elements of these kinds.
  static Predicate NonFinite(bool nan, bool inf);
  // Met if any term holds.
  static Predicate AnyOf(std::vector<Term> terms);
  static Predicate Of(Expression expression);
  // Met if the device says that the op overflowed.
  static Predicate OverflowFlag();

  // Not met at any step but 0.
  void OnlyBeforeFirstStep() { only_before_first_step_ = true; }

  // What evidence has to measure, at least.
  const Needs& needs() const { return needs_; }
  // Statistics alone decide it: no value is looked at again.
  bool uses_statistics_only() const { return uses_statistics_only_; }
  // It is about the op and not about values.
  bool uses_overflow_flag() const { return overflow_flag_; }
  // Infinities alone can meet it, as "inf" and "overflow".
  bool matches_infinities() const { return inf_; }

  // NaN or infinities alone can meet it.
  bool matches_non_finite() const { return nan_ || inf_; }

  // `evidence` was measured. If the condition is met and `actual` is not null,
  // what was found for each term is put there.
  Outcome Test(TensorMeasurements* measurements,
               Actual* actual = nullptr) const;

 private:
  // False if the evidence's sketch rules it out.
  bool MayHold(const TensorMeasurements& measurements) const;
  bool HasNonFinite(TensorMeasurements* measurements) const;
  double Evaluate(TensorMeasurements* measurements) const;
  Outcome TestFlag(TensorMeasurements* measurements, Actual* actual) const;
  void Describe(TensorMeasurements* measurements, Actual* actual) const;

  Needs needs_;
  bool uses_statistics_only_ = true;
  bool nan_ = false;
  bool inf_ = false;
  bool only_before_first_step_ = false;
  bool overflow_flag_ = false;
  std::vector<Term> terms_;
  std::shared_ptr<const Expression> expression_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_PREDICATE_H_
