#include "agent/conditions/predicate.h"

namespace graphdbg::conditions {

Predicate Predicate::Compare(double Statistics::*statistic, const char* name,
                             Kind kind, double bound) {
  Predicate predicate(kind);
  predicate.statistic_ = statistic;
  predicate.name_ = name;
  predicate.bound_ = bound;
  return predicate;
}

bool Predicate::Holds(const Statistics& s) const {
  switch (kind_) {
    case Kind::kNan:
      return s.nan_count > 0;
    case Kind::kInf:
      return s.inf_count() > 0;
    case Kind::kOverflow:
      return s.nan_count > 0 || s.inf_count() > 0;
    case Kind::kGreater:
      return s.has_finite() && s.*statistic_ > bound_;
    case Kind::kLess:
      return s.has_finite() && s.*statistic_ < bound_;
  }
  return false;
}

bool Predicate::Test(const Statistics& statistics, Actual* actual) const {
  if (!Holds(statistics)) return false;
  if (actual == nullptr) return true;
  if (kind_ == Kind::kGreater || kind_ == Kind::kLess) {
    (*actual)[name_] = statistics.*statistic_;
    return true;
  }
  if (kind_ != Kind::kInf) {
    (*actual)["nan_count"] = static_cast<double>(statistics.nan_count);
  }
  if (kind_ != Kind::kNan) {
    (*actual)["pos_inf_count"] = static_cast<double>(statistics.pos_inf_count);
    (*actual)["neg_inf_count"] = static_cast<double>(statistics.neg_inf_count);
  }
  return true;
}

}  // namespace graphdbg::conditions
