#include "agent/conditions/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace graphdbg::conditions {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Truth(bool known, bool truth) {
  return known ? static_cast<double>(truth) : kUnknown;
}

double And(double a, double b) {
  if (a == 0 || b == 0) return 0;
  return std::isnan(a) || std::isnan(b) ? kUnknown : 1;
}

double Or(double a, double b) {
  if (a == 1 || b == 1) return 1;
  return std::isnan(a) || std::isnan(b) ? kUnknown : 0;
}

}  // namespace

bool Expression::needs_previous() const {
  return std::any_of(measures_.begin(), measures_.end(),
                     [](const Measure* m) { return m->compares_steps; });
}

bool Expression::needs_values() const {
  return std::any_of(measures_.begin(), measures_.end(),
                     [](const Measure* m) { return m->needs_values; });
}

double Expression::Evaluate(TensorMeasurements* measurements) const {
  std::array<double, kMaxStack> stack;
  // The parser ensures that the stack does not overflow.
  size_t top = 0;
  for (size_t i = 0; i < program_.size(); ++i) {
    const Instruction& instruction = program_[i];
    switch (instruction.op) {
      case Op::kNumber:
        stack[top++] = instruction.number;
        continue;
      case Op::kMeasure:
        stack[top++] = instruction.measure->value(measurements);
        continue;
      case Op::kSkipIfFalse:
        if (stack[top - 1] == 0) i = instruction.target - 1;
        continue;
      case Op::kSkipIfTrue:
        if (stack[top - 1] == 1) i = instruction.target - 1;
        continue;
      case Op::kNegate:
      case Op::kNot:
      case Op::kAbs:
      case Op::kLog10:
      case Op::kSqrt:
        stack[top - 1] = Unary(instruction.op, stack[top - 1]);
        continue;
      default:
        --top;
        stack[top - 1] = Binary(instruction.op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

double Expression::Unary(Op op, double a) {
  switch (op) {
    case Op::kNegate:
      return -a;
    case Op::kNot:
      return 1 - a;
    case Op::kAbs:
      return std::fabs(a);
    case Op::kLog10:
      return std::log10(a);
    case Op::kSqrt:
      return std::sqrt(a);
    default:
      return kUnknown;
  }
}

double Expression::Binary(Op op, double a, double b) {
  const bool known = !std::isnan(a) && !std::isnan(b);
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      // The sum turns -0 into +0.
      return a / (b + 0.0);
    case Op::kLess:
      return Truth(known, a < b);
    case Op::kLessEqual:
      return Truth(known, a <= b);
    case Op::kGreater:
      return Truth(known, a > b);
    case Op::kGreaterEqual:
      return Truth(known, a >= b);
    case Op::kEqual:
      return Truth(known, a == b);
    case Op::kNotEqual:
      return Truth(known, a != b);
    case Op::kAnd:
      return And(a, b);
    case Op::kOr:
      return Or(a, b);
    case Op::kMin:
      return known ? std::min(a, b) : kUnknown;
    case Op::kMax:
      return known ? std::max(a, b) : kUnknown;
    default:
      return kUnknown;
  }
}

}  // namespace graphdbg::conditions
