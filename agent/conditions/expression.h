// Conditions that users write themselves: comparisons of measures, as
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
// conditions are different things: both sides of && are conditions, both of <
// are numbers, and the whole is a condition.
//
// A measure that does not exist (no finite element, no previous value) and what
// is computed from it is unknown, as is 0/0. A comparison with it is unknown;
// ! of unknown is unknown; && and || are unknown only if the other side does
// not decide. A whole that is unknown is not met.
#ifndef AGENT_CONDITIONS_EXPRESSION_H_
#define AGENT_CONDITIONS_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/measure.h"

namespace graphdbg::conditions {

// A parsed expression: a program for a stack of numbers. Any thread.
class Expression {
 public:
  static constexpr size_t kMaxBytes = 1000;
  // Of parentheses, functions and signs in each other.
  static constexpr size_t kMaxDepth = 32;
  // Of numbers that wait for their right side.
  static constexpr size_t kMaxStack = 32;

  // INVALID_ARGUMENT whose message begins with "column 7: " and whose payload
  // "graphdbg/column" is that number, from 1, in bytes.
  static absl::StatusOr<Expression> Parse(absl::string_view text);

  // 1: met, 0: not met, NaN: unknown. Allocates nothing.
  double Evaluate(TensorMeasurements* measurements) const;

  // False if the evidence's sketch rules out that it is met. Allocates nothing.
  bool MayHold(const TensorMeasurements& measurements) const;

  // Those that occur, each once.
  const std::vector<const Measure*>& measures() const { return measures_; }
  bool needs_previous() const;

 private:
  friend class ExpressionParser;

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
    // To `target` if the top of the stack is false (true): it decides.
    kSkipIfFalse,
    kSkipIfTrue,
  };

  struct Instruction {
    Op op;
    uint32_t target = 0;
    double number = 0;
    const Measure* measure = nullptr;
  };

  static double Binary(Op op, double a, double b);
  static Interval UnaryBounds(Op op, const Interval& a);
  static Interval BinaryBounds(Op op, const Interval& a, const Interval& b);

  std::vector<Instruction> program_;
  std::vector<const Measure*> measures_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_EXPRESSION_H_
