// Runs the program on bounds instead of numbers, to find out whether it can be
// true at all.
//
// Conditions are intervals, too: {0, 0} is false, {1, 1} true, {0, 1}
// undecided. Values that Evaluate treats as unknown may be treated as either,
// because they never lead to an expression that is true.
#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "agent/conditions/bounds.h"
#include "agent/conditions/expression.h"

namespace graphdbg::conditions {
namespace {

using bounds::kAnything;

constexpr Interval kFalse = {0, 0};
constexpr Interval kTrue = {1, 1};
constexpr Interval kUndecided = {0, 1};

// If an end is NaN, as for 0 * infinity, there is no bound.
Interval Between(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kAnything;
  return {std::min(a, b), std::max(a, b)};
}

template <class Operation>
Interval OfEnds(const Interval& a, const Interval& b,
                const Operation& operation) {
  const Interval x = Between(operation(a.lo, b.lo), operation(a.lo, b.hi));
  const Interval y = Between(operation(a.hi, b.lo), operation(a.hi, b.hi));
  return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
}

Interval Less(const Interval& a, const Interval& b) {
  if (a.hi < b.lo) return kTrue;
  return a.lo >= b.hi ? kFalse : kUndecided;
}

Interval Not(const Interval& a) { return {1 - a.hi, 1 - a.lo}; }

Interval Equal(const Interval& a, const Interval& b) {
  if (a.hi < b.lo || b.hi < a.lo) return kFalse;
  const bool same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
  return same ? kTrue : kUndecided;
}

Interval Abs(const Interval& a) {
  if (a.lo >= 0) return a;
  if (a.hi <= 0) return {-a.hi, -a.lo};
  return {0, std::max(-a.lo, a.hi)};
}

}  // namespace

bool Expression::MayHold(const TensorMeasurements& measurements) const {
  // Unlike an array, it does not set to 0 what is not used.
  absl::InlinedVector<Interval, kMaxStack> stack;
  for (size_t i = 0; i < program_.size(); ++i) {
    const Instruction& instruction = program_[i];
    switch (instruction.op) {
      case Op::kNumber:
        stack.push_back({instruction.number, instruction.number});
        continue;
      case Op::kMeasure:
        stack.push_back(BoundsOf(*instruction.measure, measurements));
        continue;
      case Op::kSkipIfFalse:
        if (stack.back().hi == 0) i = instruction.target - 1;
        continue;
      case Op::kSkipIfTrue:
        if (stack.back().lo == 1) i = instruction.target - 1;
        continue;
      case Op::kNegate:
      case Op::kNot:
      case Op::kAbs:
      case Op::kLog10:
      case Op::kSqrt:
        stack.back() = UnaryBounds(instruction.op, stack.back());
        continue;
      default:
        const Interval right = stack.back();
        stack.pop_back();
        stack.back() = BinaryBounds(instruction.op, stack.back(), right);
    }
  }
  return stack.front().hi > 0;
}

std::optional<Term> Expression::NecessaryTerm() const {
  const bool connects_by_and_only = std::none_of(
      program_.begin(), program_.end(), [](const Instruction& each) {
        return each.op == Op::kOr || each.op == Op::kNot;
      });
  if (!connects_by_and_only || program_.size() < 3 ||
      program_[0].op != Op::kMeasure || program_[1].op != Op::kNumber) {
    return std::nullopt;
  }
  const auto term = [this](Relation relation) {
    return Term{"", program_[0].measure, relation, program_[1].number};
  };
  switch (program_[2].op) {
    case Op::kLess:
      return term(Relation::kLess);
    case Op::kLessEqual:
      return term(Relation::kLessEqual);
    case Op::kGreater:
      return term(Relation::kGreater);
    case Op::kGreaterEqual:
      return term(Relation::kGreaterEqual);
    default:
      return std::nullopt;
  }
}

Interval Expression::UnaryBounds(Op op, const Interval& a) {
  switch (op) {
    case Op::kNegate:
      return {-a.hi, -a.lo};
    case Op::kNot:
      return Not(a);
    case Op::kAbs:
      return Abs(a);
    case Op::kLog10:
      return Between(std::log10(std::max(a.lo, 0.0)),
                     std::log10(std::max(a.hi, 0.0)));
    case Op::kSqrt:
      return Between(std::sqrt(std::max(a.lo, 0.0)),
                     std::sqrt(std::max(a.hi, 0.0)));
    default:
      return kAnything;
  }
}

Interval Expression::BinaryBounds(Op op, const Interval& a, const Interval& b) {
  switch (op) {
    case Op::kAdd:
      return Between(a.lo + b.lo, a.hi + b.hi);
    case Op::kSubtract:
      return Between(a.lo - b.hi, a.hi - b.lo);
    case Op::kMultiply:
      return OfEnds(a, b, [](double x, double y) { return x * y; });
    case Op::kDivide:
      if (b.lo <= 0 && b.hi >= 0) return kAnything;
      return OfEnds(a, b, [](double x, double y) { return x / y; });
    case Op::kLess:
      return Less(a, b);
    case Op::kGreater:
      return Less(b, a);
    case Op::kLessEqual:
      return Not(Less(b, a));
    case Op::kGreaterEqual:
      return Not(Less(a, b));
    case Op::kEqual:
      return Equal(a, b);
    case Op::kNotEqual:
      return Not(Equal(a, b));
    // These apply to the ends like to numbers.
    case Op::kAnd:
    case Op::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::kOr:
    case Op::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    default:
      return kAnything;
  }
}

}  // namespace graphdbg::conditions
