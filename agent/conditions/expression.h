// Conditions that users write as comparisons of measures, for example
//   abs_max > 1e3 && step > 100
//   nan_count > 0 || change_ratio > 0.5 * sqrt(step)
//
//   or       = and { "||" and }
//   and      = relation { "&&" relation }
//   relation = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//   sum      = product { ("+" | "-") product }
//   product  = unary { ("*" | "/") unary }
//   unary    = ("-" | "!") unary | primary
//   primary  = number | measure | function "(" or { "," or } ")" | "(" or ")"
//
// Functions: abs, log10, sqrt, and min and max of two or more. Numbers and
// conditions are different types: both sides of && are conditions, both sides
// of < are numbers, and the whole expression is a condition.
//
// A measure that does not exist (no finite element, no previous value) is
// unknown, as is 0/0 and everything computed from them. A comparison with an
// unknown number is unknown, and so is its negation; && and || are unknown only
// if the other side does not decide. An expression that is unknown does not
// match. In a division, a zero has no sign.
//
// Rules also have functions over earlier values: see series_expression.h.
#ifndef AGENT_CONDITIONS_EXPRESSION_H_
#define AGENT_CONDITIONS_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/measure.h"

namespace graphdbg::conditions {

// A parsed expression: a program for a stack of numbers. Any thread.
class Expression {
 public:
  static constexpr size_t kMaxBytes = 1000;
  // Nesting of parentheses, functions and signs.
  static constexpr size_t kMaxDepth = 32;
  // Numbers that wait for the right side of an operator.
  static constexpr size_t kMaxStack = 32;

  // Errors are INVALID_ARGUMENT. The message begins with "column 7: ", and the
  // payload "graphdbg/column" has that number, in bytes from 1.
  static absl::StatusOr<Expression> Parse(absl::string_view text);

  // Returns 1 if it is true, 0 if it is false, NaN if it is unknown. Allocates
  // nothing.
  double Evaluate(TensorMeasurements* measurements) const;

  // Returns false if the sketch rules out that it is true. Allocates nothing.
  bool MayHold(const TensorMeasurements& measurements) const;

  // A comparison of a measure with a number that has to hold for the expression
  // to be true, if it is the first of comparisons that are connected by &&
  // only.
  std::optional<Term> NecessaryTerm() const;

  // The measures that occur, once each.
  const std::vector<const Measure*>& measures() const { return measures_; }
  bool needs_previous() const;
  // Some measure cannot be derived from statistics.
  bool needs_values() const;

 private:
  friend class ExpressionParser;
  friend class SeriesExpression;

  enum class Op : uint8_t {
    kNumber,
    kMeasure,
    kNegate,
    kNot,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
    kAbs,
    kLog10,
    kSqrt,
    kMin,
    kMax,
    // Jump to `target` if the top of the stack is false (true) and so decides.
    kSkipIfFalse,
    kSkipIfTrue,
    // These occur only in rules. `target` is the place of the variable, or of
    // the window.
    kVariable,
    kPrev,
    kMeanBefore,
    kMinBefore,
    kMaxBefore,
    kHeld,
  };

  struct Instruction {
    Op op;
    uint32_t target = 0;
    double number = 0;
    const Measure* measure = nullptr;
  };

  static double Unary(Op op, double a);
  static double Binary(Op op, double a, double b);
  static Interval UnaryBounds(Op op, const Interval& a);
  static Interval BinaryBounds(Op op, const Interval& a, const Interval& b);

  std::vector<Instruction> program_;
  std::vector<const Measure*> measures_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_EXPRESSION_H_
