#include "agent/conditions/predicate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/conditions/channels.h"

namespace graphdbg::conditions {
namespace {

bool Compare(double x, Relation relation, double bound) {
  switch (relation) {
    case Relation::kGreater:
      return x > bound;
    case Relation::kGreaterEqual:
      return x >= bound;
    case Relation::kLess:
      return x < bound;
    case Relation::kLessEqual:
      return x <= bound;
  }
  return false;
}

}  // namespace

Predicate Predicate::NonFinite(bool nan, bool inf) {
  Predicate predicate;
  predicate.nan_ = nan;
  predicate.inf_ = inf;
  return predicate;
}

Predicate Predicate::AnyOf(std::vector<Term> terms) {
  Predicate predicate;
  predicate.needs_.statistics = true;
  for (const Term& term : terms) {
    predicate.needs_.previous |= NeedsPrevious(term.quantity);
    predicate.uses_statistics_only_ &= IsStatistic(term.quantity);
    predicate.needs_values_ |= NeedsValues(term.quantity);
  }
  predicate.terms_ = std::move(terms);
  return predicate;
}

Predicate Predicate::FromExpression(Expression expression) {
  Predicate predicate;
  predicate.needs_ = {true, expression.needs_previous()};
  predicate.needs_values_ = expression.needs_values();
  predicate.uses_statistics_only_ =
      !expression.needs_previous() && !predicate.needs_values_;
  predicate.necessary_ = expression.NecessaryTerm();
  predicate.expression_ =
      std::make_shared<const Expression>(std::move(expression));
  return predicate;
}

Predicate Predicate::OverflowFlag() {
  Predicate predicate;
  predicate.uses_statistics_only_ = false;
  predicate.overflow_flag_ = true;
  return predicate;
}

void Predicate::TestChannelsOf(int axis) {
  if (terms_.empty() && expression_ == nullptr) return;
  axis_ = axis;
  uses_statistics_only_ = false;
  needs_values_ = true;
}

Predicate Predicate::OnExecution() {
  Predicate predicate;
  predicate.on_execution_ = true;
  return predicate;
}

absl::Span<const Term> Predicate::TermsToHold() const {
  if (expression_ == nullptr) return terms_;
  return {necessary_ ? &*necessary_ : nullptr, necessary_ ? 1u : 0u};
}

bool Predicate::IsBoundedBySketch() const {
  if (on_execution_ || overflow_flag_ || axis_) return false;
  if (expression_ != nullptr && !necessary_) return false;
  const absl::Span<const Term> terms = TermsToHold();
  return std::all_of(terms.begin(), terms.end(), [](const Term& term) {
    return conditions::IsBoundedBySketch(term.quantity);
  });
}

bool Predicate::HasNonFinite(TensorMeasurements* measurements) const {
  if (!(nan_ || inf_) || measurements->all_finite()) return false;
  const Statistics& s = measurements->statistics();
  return (nan_ && s.nan_count > 0) || (inf_ && s.inf_count() > 0);
}

bool Predicate::MayHold(const TensorMeasurements& measurements) const {
  if (expression_ != nullptr) return expression_->MayHold(measurements);
  for (const Term& term : terms_) {
    const Interval bounds = BoundsOf(term.quantity, measurements);
    const bool above = term.relation == Relation::kGreater ||
                       term.relation == Relation::kGreaterEqual;
    if (Compare(above ? bounds.hi : bounds.lo, term.relation, term.bound)) {
      return true;
    }
  }
  return false;
}

// Returns 1 for a match, 0 for none, and NaN if that is unknown.
double Predicate::Evaluate(TensorMeasurements* measurements) const {
  if (expression_ != nullptr) return expression_->Evaluate(measurements);
  double outcome = HasNonFinite(measurements) ? 1 : 0;
  for (const Term& term : terms_) {
    const double value = ValueOf(term.quantity, measurements);
    if (Compare(value, term.relation, term.bound)) return 1;
    if (std::isnan(value)) outcome = value;
  }
  return outcome;
}

Outcome Predicate::TestFlag(TensorMeasurements* measurements,
                            Actual* actual) const {
  const std::optional<bool> overflowed = measurements->TakeOverflowFlag();
  if (!overflowed) return Outcome::kNoFlag;
  if (!*overflowed) return Outcome::kNotMatched;
  if (actual != nullptr) (*actual)["overflow_flag"] = 1;
  return Outcome::kMatched;
}

Outcome Predicate::Test(TensorMeasurements* measurements,
                        Actual* actual) const {
  if (on_execution_) return Outcome::kNotMatched;
  if (overflow_flag_) return TestFlag(measurements, actual);
  if (only_before_first_step_ && measurements->step() != 0) {
    return Outcome::kNotMatched;
  }
  return axis_ ? TestChannels(*measurements, actual)
               : TestValues(measurements, actual);
}

Outcome Predicate::TestChannels(const TensorMeasurements& whole,
                                Actual* actual) const {
  const std::optional<size_t> axis = Channels::Find(whole, *axis_);
  if (!axis) return Outcome::kNotMatched;
  Channels channels(whole, *axis);
  if (channels.count() > kMaxChannels) return Outcome::kTooManyChannels;
  Outcome result = Outcome::kNotMatched;
  double matching = 0;
  for (int64_t channel = 0; channel < channels.count(); ++channel) {
    TensorMeasurements* const slice = channels.Measure(channel, needs_);
    if (slice == nullptr) return Outcome::kNotMatched;
    const bool first = matching == 0;
    const Outcome outcome = TestValues(slice, first ? actual : nullptr);
    if (outcome == Outcome::kNoPrevious) return outcome;
    if (outcome != Outcome::kMatched) continue;
    if (actual == nullptr) return outcome;
    result = outcome;
    if (first) (*actual)["channel"] = static_cast<double>(channel);
    ++matching;
  }
  if (result == Outcome::kMatched) (*actual)["matching_channels"] = matching;
  return result;
}

Outcome Predicate::TestValues(TensorMeasurements* measurements,
                              Actual* actual) const {
  const bool known = measurements->sketch() != nullptr || needs_values_;
  if (known && !MayHold(*measurements)) return Outcome::kNotMatched;
  const double truth = Evaluate(measurements);
  if (truth == 1) {
    if (actual != nullptr) Describe(measurements, actual);
    return Outcome::kMatched;
  }
  return std::isnan(truth) && needs_.previous && !measurements->has_previous()
             ? Outcome::kNoPrevious
             : Outcome::kNotMatched;
}

void Predicate::Describe(TensorMeasurements* measurements,
                         Actual* actual) const {
  for (const Term& term : terms_) {
    const double value = ValueOf(term.quantity, measurements);
    if (!std::isnan(value)) (*actual)[term.name] = value;
  }
  if (expression_ != nullptr) {
    for (const Measure* measure : expression_->measures()) {
      const double value = measure->value(measurements);
      if (!std::isnan(value)) (*actual)[measure->name] = value;
    }
  }
  const Statistics& s = measurements->statistics();
  if (nan_) (*actual)["nan_count"] = static_cast<double>(s.nan_count);
  if (inf_) {
    (*actual)["pos_inf_count"] = static_cast<double>(s.pos_inf_count);
    (*actual)["neg_inf_count"] = static_cast<double>(s.neg_inf_count);
  }
}

}  // namespace graphdbg::conditions
