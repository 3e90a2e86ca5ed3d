#include "agent/conditions/series_expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace graphdbg::conditions {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool AnyUnknown(absl::Span<const double> values) {
  return std::any_of(values.begin(), values.end(),
                     [](double value) { return std::isnan(value); });
}

}  // namespace

void ValueWindow::Push(double value) {
  if (!full()) {
    values_.push_back(value);
    return;
  }
  values_[next_] = value;
  next_ = (next_ + 1) % size_;
}

SeriesState::SeriesState(const std::vector<uint32_t>& windows)
    : windows_(windows.begin(), windows.end()),
      true_in_a_row_(windows.size(), 0) {}

size_t SeriesExpression::state_size() const {
  return std::accumulate(windows_.begin(), windows_.end(), windows_.size());
}

double SeriesExpression::Observe(absl::Span<const double> values,
                                 SeriesState* state) const {
  using Op = Expression::Op;
  std::array<double, Expression::kMaxStack> stack;
  // The parser ensures that the stack does not overflow.
  size_t top = 0;
  for (const Expression::Instruction& instruction : program_.program_) {
    switch (instruction.op) {
      case Op::kNumber:
        stack[top++] = instruction.number;
        continue;
      case Op::kVariable:
        stack[top++] = values[instruction.target];
        continue;
      case Op::kNegate:
      case Op::kNot:
      case Op::kAbs:
      case Op::kLog10:
      case Op::kSqrt:
        stack[top - 1] = Expression::Unary(instruction.op, stack[top - 1]);
        continue;
      case Op::kPrev:
      case Op::kMeanBefore:
      case Op::kMinBefore:
      case Op::kMaxBefore:
      case Op::kHeld:
        stack[top - 1] =
            Window(instruction.op, instruction.target, stack[top - 1], state);
        continue;
      default:
        --top;
        stack[top - 1] =
            Expression::Binary(instruction.op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

double SeriesExpression::Window(Expression::Op op, uint32_t place, double value,
                                SeriesState* state) const {
  using Op = Expression::Op;
  if (op == Op::kHeld) {
    uint32_t& count = state->true_in_a_row_[place];
    count = value == 1 ? std::min(count + 1, windows_[place]) : 0;
    return count == windows_[place] ? 1 : 0;
  }
  ValueWindow& window = state->windows_[place];
  double result = kUnknown;
  if (window.full()) {
    const absl::Span<const double> before = window.values();
    if (op == Op::kPrev) {
      result = window.oldest();
    } else if (!AnyUnknown(before)) {
      if (op == Op::kMinBefore) {
        result = *std::min_element(before.begin(), before.end());
      } else if (op == Op::kMaxBefore) {
        result = *std::max_element(before.begin(), before.end());
      } else {
        double sum = 0;
        for (const double each : before) sum += each;
        result = sum / static_cast<double>(before.size());
      }
    }
  }
  window.Push(value);
  return result;
}

}  // namespace graphdbg::conditions
