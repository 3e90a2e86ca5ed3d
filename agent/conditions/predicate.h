// A condition with its parameters, compiled so that it can be tested.
#ifndef AGENT_CONDITIONS_PREDICATE_H_
#define AGENT_CONDITIONS_PREDICATE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "agent/conditions/expression.h"
#include "agent/conditions/measure.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::conditions {

// The values that a condition was tested on, by name.
using Actual = std::map<std::string, double>;

enum class Outcome {
  kNotMatched,
  kMatched,
  // It compares with the value of the previous step, which is not known.
  kNoPrevious,
  // It tests the overflow flag, which the device does not have.
  kNoFlag,
  // It tests each channel, and there are more than kMaxChannels.
  kTooManyChannels,
};

// Cheap to copy. Testing allocates nothing unless `actual` is requested. Any
// thread.
class Predicate {
 public:
  // Matches tensors that contain elements of these kinds.
  static Predicate NonFinite(bool nan, bool inf);
  // Matches if any term is true.
  static Predicate AnyOf(std::vector<Term> terms);
  static Predicate FromExpression(Expression expression);
  // Matches if the device reports that the op overflowed.
  static Predicate OverflowFlag();
  // Matches no tensor: the execution of an op is enough.
  static Predicate OnExecution();

  // Infinities match only once it is known that an op passes them on. Has no
  // effect on predicates that infinities alone do not match.
  void WaitForReader() { waits_for_reader_ = true; }

  // Tensors that only pass on what an input contains do not stop the program,
  // unless nothing else has matched before.
  void PassOverPropagated() { passes_over_propagated_ = true; }

  // Tests each slice along this dimension by itself; matches if any slice does.
  // Negative numbers count from the last dimension. Tensors without the
  // dimension never match. Has no effect on NonFinite and OverflowFlag.
  void TestChannelsOf(int axis);

  // Restricts the predicate to step 0.
  void OnlyBeforeFirstStep() { only_before_first_step_ = true; }

  // Whether the sketch of a tensor may rule a match out: if none of
  // TermsToHold() may hold. Every sketch does if there are none.
  bool IsBoundedBySketch() const;
  // Terms of which one has to hold.
  absl::Span<const Term> TermsToHold() const;

  // The measurements that are needed before a test.
  const Needs& needs() const { return needs_; }
  // Statistics are sufficient, so that values are not read again.
  bool uses_statistics_only() const { return uses_statistics_only_; }
  // Statistics of the tensor and of its change are not sufficient.
  bool needs_values() const { return needs_values_; }
  // Executions match it, and tensors are not tested.
  bool on_execution() const { return on_execution_; }
  // It tests a property of the op and not of values.
  bool uses_overflow_flag() const { return overflow_flag_; }
  // Infinities alone match it, as with "inf" and "overflow".
  bool matches_infinities() const { return inf_; }

  // Whether a match by infinities counts only if an op passes them on.
  bool waits_for_reader() const { return inf_ && waits_for_reader_; }

  // Whether matches that are passed on do not stop the program.
  bool passes_over_propagated() const { return passes_over_propagated_; }

  // NaN or infinities alone match it.
  bool matches_non_finite() const { return nan_ || inf_; }

  // Measure must have succeeded on `measurements`. If the condition matches and
  // `actual` is not null, it receives the value of each term; for channels,
  // that of the first one that matches, its index as "channel", and the number
  // of those that match as "matching_channels".
  Outcome Test(TensorMeasurements* measurements,
               Actual* actual = nullptr) const;

 private:
  Outcome TestValues(TensorMeasurements* measurements, Actual* actual) const;
  Outcome TestChannels(const TensorMeasurements& whole, Actual* actual) const;
  // Returns false if what is known without another pass rules out a match.
  bool MayHold(const TensorMeasurements& measurements) const;
  bool HasNonFinite(TensorMeasurements* measurements) const;
  double Evaluate(TensorMeasurements* measurements) const;
  Outcome TestFlag(TensorMeasurements* measurements, Actual* actual) const;
  void Describe(TensorMeasurements* measurements, Actual* actual) const;

  Needs needs_;
  bool uses_statistics_only_ = true;
  bool needs_values_ = false;
  bool nan_ = false;
  bool inf_ = false;
  bool waits_for_reader_ = false;
  bool passes_over_propagated_ = false;
  bool only_before_first_step_ = false;
  bool overflow_flag_ = false;
  std::optional<int> axis_;
  bool on_execution_ = false;
  std::vector<Term> terms_;
  std::shared_ptr<const Expression> expression_;
  // NecessaryTerm() of the expression.
  std::optional<Term> necessary_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_PREDICATE_H_
