// A condition with its parameters, ready to be tested on statistics.
#ifndef AGENT_CONDITIONS_PREDICATE_H_
#define AGENT_CONDITIONS_PREDICATE_H_

#include <map>
#include <string>

#include "agent/kernels/statistics.h"

namespace graphdbg::conditions {

// What was found, by name: the counts or the statistic that met a condition.
using Actual = std::map<std::string, double>;

// A small value, free to copy. Testing allocates nothing unless it holds.
class Predicate {
 public:
  enum class Kind {
    kNan,
    kInf,
    kOverflow,
    kGreater,
    kLess,
  };

  static Predicate NonFinite(Kind kind) { return Predicate(kind); }
  // `name` is the statistic's name in `Actual` and must live for ever.
  static Predicate Compare(double Statistics::*statistic, const char* name,
                           Kind kind, double bound);

  // Whether the condition holds. If so and `actual` is not null, what was found
  // is put there. Comparisons are over the finite elements; where there is
  // none, they do not hold.
  bool Test(const Statistics& statistics, Actual* actual = nullptr) const;

  // Infinities alone can meet it, as "inf" and "overflow".
  bool about_infinities() const {
    return kind_ == Kind::kInf || kind_ == Kind::kOverflow;
  }

 private:
  explicit Predicate(Kind kind) : kind_(kind) {}
  bool Holds(const Statistics& s) const;

  Kind kind_;
  double Statistics::*statistic_ = nullptr;
  const char* name_ = "";
  double bound_ = 0;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_PREDICATE_H_
