// Rules over recorded series, and what they found.
#ifndef SERVER_MODEL_RULES_H_
#define SERVER_MODEL_RULES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/conditions/advice.h"
#include "server/model/action.h"
#include "server/model/graph.h"
#include "server/model/run_mode.h"

namespace graphdbg::model {

// The union of the lists, without `exclude`. If all but `exclude` are empty,
// every tensor is selected.
struct RuleSelection {
  std::vector<std::string> collections;
  // Regular expressions of RE2, found anywhere in the node's name.
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> op_types;
  std::vector<std::string> nodes;
  std::vector<std::string> scopes;
  std::vector<std::string> patterns;
  std::vector<Category> categories;
};

// A property that the observations of one series have in common.
enum class SeriesPart { kRank, kTensor, kMode };

struct RuleSpec {
  std::string name;
  // See agent/conditions/series_expression.h.
  std::string when;
  RuleSelection selection;
  std::vector<SeriesPart> series = {SeriesPart::kRank, SeriesPart::kTensor,
                                    SeriesPart::kMode};
  // Values over the observations of a step, such as "max(l2)", by name.
  std::vector<std::pair<std::string, std::string>> reduce;
  // `when` must be true for this many observations in a row.
  uint32_t hold = 1;
  // The rule is reported again after this many observations without a match.
  uint32_t cool_down = 10;
  // The built-in rule that it is a part of; empty if there is none.
  std::string base;
  // About its findings. May be null.
  std::shared_ptr<const conditions::Advice> advice;
};

// A rule that is evaluated while the run is recorded.
struct LiveRule {
  RuleSpec spec;
  std::vector<Action> actions;
  // The first step whose findings have the actions carried out. Absent: the one
  // after those that are recorded when the rule is added.
  std::optional<uint64_t> act_from;
};

// The rules of a job, as they outlive the server.
struct KeptRules {
  // The id of the run that the job records; empty if there are no rules.
  std::string run;
  // The rules as the HTTP API takes them.
  std::string json;
};

struct Finding {
  std::string rule;
  // Absent if the series comprises several.
  std::optional<uint32_t> rank;
  // "node:slot"; empty if the series comprises several, or is about steps.
  std::string tensor;
  std::optional<RunMode> mode;
  uint64_t step = 0;
  // The values that the expression used.
  std::map<std::string, double> values;
  std::string message;
  // May be null.
  std::shared_ptr<const conditions::Advice> advice;
};

// The result of one rule.
struct RuleReport {
  std::string rule;
  uint64_t observations = 0;
  // Observations that do not match because the expression, or everything that
  // it uses, was unknown.
  uint64_t unknown = 0;
  // Includes findings that are not listed.
  uint64_t findings = 0;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_RULES_H_
