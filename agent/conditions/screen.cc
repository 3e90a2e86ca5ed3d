#include "agent/conditions/screen.h"

#include <limits>

namespace graphdbg::conditions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

bool Screen::Add(const Predicate& predicate) {
  if (!predicate.IsBoundedBySketch()) return false;
  for (const Term& term : predicate.TermsToHold()) Add(term);
  return true;
}

void Screen::Add(const Term& term) {
  Limits* const limits = LimitsOf(term.quantity);
  const bool inclusive = term.relation == Relation::kGreaterEqual ||
                         term.relation == Relation::kLessEqual;
  const bool above = term.relation == Relation::kGreater ||
                     term.relation == Relation::kGreaterEqual;
  Limit* const limit = above ? &limits->high : &limits->low;
  if (term.bound == limit->bound) {
    limit->inclusive |= inclusive;
  } else if (above ? term.bound < limit->bound : term.bound > limit->bound) {
    *limit = {term.bound, inclusive};
  }
}

Screen::Limits* Screen::LimitsOf(const Quantity& quantity) {
  for (Limits& limits : limits_) {
    if (limits.quantity == quantity) return &limits;
  }
  const auto* const measure = std::get_if<const Measure*>(&quantity);
  limits_.push_back({quantity,
                     measure == nullptr ? nullptr : (*measure)->bounds,
                     {-kInfinity, false},
                     {kInfinity, false}});
  return &limits_.back();
}

bool Screen::RulesOut(const TensorMeasurements& measurements) const {
  const Sketch* const sketch = measurements.sketch();
  if (sketch == nullptr) return false;
  for (const auto& [quantity, bounds, low, high] : limits_) {
    const Interval x =
        bounds != nullptr ? bounds(*sketch) : BoundsOf(quantity, measurements);
    const bool may_be_low =
        low.inclusive ? !(x.lo > low.bound) : !(x.lo >= low.bound);
    const bool may_be_high =
        high.inclusive ? !(x.hi < high.bound) : !(x.hi <= high.bound);
    if (may_be_low || may_be_high) return false;
  }
  return true;
}

}  // namespace graphdbg::conditions
