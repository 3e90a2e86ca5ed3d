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
  }
  predicate.terms_ = std::move(terms);
  return predicate;
}

bool Predicate::Holds(Evidence* evidence) const {
  for (const Term& term : terms_) {
    if (Compare(ValueOf(term.quantity, evidence), term.relation, term.bound)) {
      return true;
    }
  }
  if (!(nan_ || inf_) || evidence->all_finite()) return false;
  const Statistics& s = evidence->statistics();
  return (nan_ && s.nan_count > 0) || (inf_ && s.inf_count() > 0);
}

Outcome Predicate::Test(Evidence* evidence, Actual* actual) const {
  if (only_before_first_step_ && evidence->step() != 0) {
    return Outcome::kNotMet;
  }
  if (Holds(evidence)) {
    if (actual != nullptr) Describe(evidence, actual);
    return Outcome::kMet;
  }
  return needs_.previous && !evidence->has_previous() ? Outcome::kNoPrevious
                                                      : Outcome::kNotMet;
}

void Predicate::Describe(Evidence* evidence, Actual* actual) const {
  for (const Term& term : terms_) {
    const double value = ValueOf(term.quantity, evidence);
    if (!std::isnan(value)) (*actual)[term.name] = value;
  }
  const Statistics& s = evidence->statistics();
  if (nan_) (*actual)["nan_count"] = static_cast<double>(s.nan_count);
  if (inf_) {
    (*actual)["pos_inf_count"] = static_cast<double>(s.pos_inf_count);
    (*actual)["neg_inf_count"] = static_cast<double>(s.neg_inf_count);
  }
}

}  // namespace graphdbg::conditions
