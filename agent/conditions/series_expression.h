// The expressions of rules: those of conditions (expression.h), and functions
// over the earlier observations of the same series, for example
//   prev(value, 10) - value < 0.001 * abs(prev(value, 10))
//   held(nan_count > 0, 3) && mean_before(count, 20) > 1
// No such function occurs within another.
//
// `n` is a whole number from 1 to 1,000.
//   prev(x, n)         x, n observations ago
//   mean_before(x, n)  over the n observations before this one; so do
//                      min_before and max_before
//   held(c, n)         true if c was true now and at the n - 1 before
// All but held are unknown until there are that many observations, and if one
// of them is unknown. held is false then.
#ifndef AGENT_CONDITIONS_SERIES_EXPRESSION_H_
#define AGENT_CONDITIONS_SERIES_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/conditions/expression.h"

namespace graphdbg::conditions {

// The last values of one argument of a function. Grows up to its size.
class ValueWindow {
 public:
  explicit ValueWindow(uint32_t size) : size_(size) {}

  // Whether there are as many values as the window is long.
  bool full() const { return values_.size() == size_; }
  // The value that Push replaces next. The window is full.
  double oldest() const { return values_[next_]; }
  // They are not in order of observations once the window is full.
  absl::Span<const double> values() const { return values_; }
  void Push(double value);

 private:
  uint32_t size_;
  uint32_t next_ = 0;
  std::vector<double> values_;
};

// The part of an expression's state that belongs to one series.
class SeriesState {
 public:
  explicit SeriesState(const std::vector<uint32_t>& windows);

 private:
  friend class SeriesExpression;

  std::vector<ValueWindow> windows_;
  // For each window, how many observations in a row the condition of `held` was
  // true.
  std::vector<uint32_t> true_in_a_row_;
};

// A parsed expression: a program without state. Any thread.
class SeriesExpression {
 public:
  static constexpr uint32_t kMaxWindow = 1'000;

  // Errors are those of Expression::Parse. `variables` are the names that the
  // expression may use.
  static absl::StatusOr<SeriesExpression> Parse(
      absl::string_view text, const std::vector<std::string>& variables);

  // The state of a series before its first observation.
  SeriesState Start() const { return SeriesState(windows_); }
  // The numbers that the state of a series may grow to.
  size_t state_size() const;
  // Evaluates the next observation of a series: `values` by the places of the
  // variables, NaN if unknown. Returns 1 if the expression is true, 0 if it is
  // false, NaN if it is unknown.
  double Observe(absl::Span<const double> values, SeriesState* state) const;

  // The places of the variables that occur, in their order in the text.
  const std::vector<uint32_t>& used() const { return used_; }

 private:
  SeriesExpression(Expression program, std::vector<uint32_t> windows,
                   std::vector<uint32_t> used)
      : program_(std::move(program)),
        windows_(std::move(windows)),
        used_(std::move(used)) {}

  double Window(Expression::Op op, uint32_t place, double value,
                SeriesState* state) const;

  Expression program_;
  // The sizes of the functions' windows.
  std::vector<uint32_t> windows_;
  std::vector<uint32_t> used_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SERIES_EXPRESSION_H_
