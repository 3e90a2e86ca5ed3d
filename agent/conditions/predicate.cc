#include "agent/conditions/predicate.h"

#include <cmath>
#include <utility>

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
    predicate.of_statistics_ &= OfStatistics(term.quantity);
  }
  predicate.terms_ = std::move(terms);
  return predicate;
}

Predicate Predicate::Of(Expression expression) {
  Predicate predicate;
  predicate.needs_ = {true, expression.needs_previous()};
  predicate.of_statistics_ = !expression.needs_previous();
  predicate.expression_ =
      std::make_shared<const Expression>(std::move(expression));
  return predicate;
}

Predicate Predicate::OfOverflowFlag() {
  Predicate predicate;
  predicate.of_statistics_ = false;
  predicate.overflow_flag_ = true;
  return predicate;
}

bool Predicate::HasNonFinite(Evidence* evidence) const {
  if (!(nan_ || inf_) || evidence->all_finite()) return false;
  const Statistics& s = evidence->statistics();
  return (nan_ && s.nan_count > 0) || (inf_ && s.inf_count() > 0);
}

bool Predicate::MayHold(const Evidence& evidence) const {
  if (expression_ != nullptr) return expression_->MayHold(evidence);
  for (const Term& term : terms_) {
    const Interval bounds = BoundsOf(term.quantity, evidence);
    const bool above = term.relation == Relation::kGreater ||
                       term.relation == Relation::kGreaterEqual;
    if (Compare(above ? bounds.hi : bounds.lo, term.relation, term.bound)) {
      return true;
    }
  }
  return false;
}

// 1: met, 0: not met, NaN: not known.
double Predicate::Evaluate(Evidence* evidence) const {
  if (expression_ != nullptr) return expression_->Evaluate(evidence);
  double outcome = HasNonFinite(evidence) ? 1 : 0;
  for (const Term& term : terms_) {
    const double value = ValueOf(term.quantity, evidence);
    if (Compare(value, term.relation, term.bound)) return 1;
    if (std::isnan(value)) outcome = value;
  }
  return outcome;
}

Outcome Predicate::TestFlag(Evidence* evidence, Actual* actual) const {
  const std::optional<bool> overflowed = evidence->TakeOverflowFlag();
  if (!overflowed) return Outcome::kNoFlag;
  if (!*overflowed) return Outcome::kNotMet;
  if (actual != nullptr) (*actual)["overflow_flag"] = 1;
  return Outcome::kMet;
}

Outcome Predicate::Test(Evidence* evidence, Actual* actual) const {
  if (overflow_flag_) return TestFlag(evidence, actual);
  if (only_before_first_step_ && evidence->step() != 0) {
    return Outcome::kNotMet;
  }
  if (evidence->sketch() != nullptr && !MayHold(*evidence)) {
    return Outcome::kNotMet;
  }
  const double truth = Evaluate(evidence);
  if (truth == 1) {
    if (actual != nullptr) Describe(evidence, actual);
    return Outcome::kMet;
  }
  return std::isnan(truth) && needs_.previous && !evidence->has_previous()
             ? Outcome::kNoPrevious
             : Outcome::kNotMet;
}

void Predicate::Describe(Evidence* evidence, Actual* actual) const {
  for (const Term& term : terms_) {
    const double value = ValueOf(term.quantity, evidence);
    if (!std::isnan(value)) (*actual)[term.name] = value;
  }
  if (expression_ != nullptr) {
    for (const Measure* measure : expression_->measures()) {
      const double value = measure->value(evidence);
      if (!std::isnan(value)) (*actual)[measure->name] = value;
    }
  }
  const Statistics& s = evidence->statistics();
  if (nan_) (*actual)["nan_count"] = static_cast<double>(s.nan_count);
  if (inf_) {
    (*actual)["pos_inf_count"] = static_cast<double>(s.pos_inf_count);
    (*actual)["neg_inf_count"] = static_cast<double>(s.neg_inf_count);
  }
}

}  // namespace graphdbg::conditions
