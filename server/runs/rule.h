// A rule, compiled: an expression over the observations of series.
#ifndef SERVER_RUNS_RULE_H_
#define SERVER_RUNS_RULE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/conditions/series_expression.h"
#include "server/model/rules.h"

namespace graphdbg::recorded {

// The state of one rule for one series.
struct RuleSeries {
  explicit RuleSeries(conditions::SeriesState from) : state(std::move(from)) {}

  conditions::SeriesState state;
  // Observations in a row for which the expression was true.
  uint32_t true_in_a_row = 0;
  // Observations since the last match; absent before the first one.
  std::optional<uint64_t> since_match;
};

// Does not change once it is compiled. Any thread.
class Rule {
 public:
  // INVALID_ARGUMENT names the field below the rule: "when", "reduce.hi".
  static absl::StatusOr<Rule> Compile(model::RuleSpec spec);

  const model::RuleSpec& spec() const { return spec_; }
  bool distinguishes(model::SeriesPart part) const;
  // Its observations are the steps, and not the tensors, of a rank.
  bool observes_steps() const { return observes_steps_; }
  // Its observations are values over several tensors of a step.
  bool reduces() const { return !spec_.reduce.empty(); }
  // The places of the measures (rule_measures.h) that an observation needs; for
  // a rule that reduces, one for each value.
  const std::vector<uint32_t>& measures() const { return measures_; }

  // The numbers that the state of a series may grow to.
  size_t state_size() const { return expression_.state_size(); }
  RuleSeries Start() const { return RuleSeries(expression_.Start()); }

  enum class Result { kUnknown, kQuiet, kFires };
  // Evaluates the next observation. `values` are those of measures() at their
  // places, or for a rule that reduces, the result of Reduce.
  Result Observe(absl::Span<const double> values, RuleSeries* series) const;

  // --- Rules that reduce ----------------------------------------------------
  // Values over the observations of a step so far.
  struct Sums {
    double count = 0;
    double sum = 0;
    double min = 0;
    double max = 0;
  };
  // Adds the values of measures(), at their places. `sums` has an entry for
  // each of measures().
  void AddTo(absl::Span<const double> values, std::vector<Sums>* sums) const;
  std::vector<double> Reduce(absl::Span<const Sums> sums, uint64_t step) const;

  // The values that the expression used, by name.
  std::map<std::string, double> Named(absl::Span<const double> values) const;
  // Describes a finding with these values.
  std::string Describe(const std::map<std::string, double>& values) const;

 private:
  enum class Aggregate { kMin, kMax, kSum, kMean, kCount };

  Rule(model::RuleSpec spec, conditions::SeriesExpression expression)
      : spec_(std::move(spec)), expression_(std::move(expression)) {}

  static absl::StatusOr<std::pair<Aggregate, uint32_t>> ParseReduction(
      const std::string& text);
  absl::Status CheckSeries();
  // Whether all values that the expression uses are unknown.
  bool KnowsNothing(absl::Span<const double> values) const;

  model::RuleSpec spec_;
  conditions::SeriesExpression expression_;
  // The names that the expression may use, and the places of its variables.
  std::vector<std::string> names_;
  std::vector<uint32_t> measures_;
  std::vector<Aggregate> aggregates_;
  bool observes_steps_ = false;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_H_
