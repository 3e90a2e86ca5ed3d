// Rules that clients evaluate: those that are Python classes.
#ifndef SERVER_RULES_REPORTED_RULE_H_
#define SERVER_RULES_REPORTED_RULE_H_

#include <cstdint>
#include <string>

#include "server/model/rules.h"
#include "server/model/run.h"

namespace graphdbg::rules {

// A rule that a client evaluates. It has no `when`.
struct ReportedRule {
  model::LiveRule rule;
  // The id of the class.
  std::string python_class;
};

// A client's report about such a rule.
struct RuleProgress {
  std::string rule;
  model::CheckState state = model::CheckState::kRunning;
  uint64_t observations = 0;
  uint64_t unknown = 0;
  // Why the rule was switched off.
  std::string error;
};

// A rule of either kind. `python_class` is empty for an expression.
struct ListedRule {
  model::LiveRuleState state;
  std::string python_class;
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_REPORTED_RULE_H_
