// The built-in rules, as catalogue.json of the Python package describes them.
#ifndef SERVER_RULES_CATALOGUE_H_
#define SERVER_RULES_CATALOGUE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/conditions/advice.h"
#include "server/model/rules.h"

namespace graphdbg::rules {

struct RuleParam {
  std::string name;
  // "int", "float", "bool" or "str".
  std::string type;
  // The default, by the type; true is 1. Neither if there is none.
  std::optional<double> number;
  std::optional<std::string> text;
  // The parameter has no default and need not be given.
  bool optional = false;
  std::optional<double> min;
  std::optional<double> max;
  std::string unit;
  std::string help;

  bool required() const { return !number && !text && !optional; }
  // The values that it accepts, such as "a whole number of at least 2".
  std::string Accepts() const;
  // Whether the number is one of them.
  bool Accepts(double value) const;
};

// The values of parameters by name; true is 1. Flags that are false, and
// parameters that are not given, are absent.
using RuleParams = std::map<std::string, double>;

// An expression of a rule.
struct RulePart {
  // Any of them has to be true.
  struct Term {
    // "{threshold}" stands for a parameter, "{num_steps-1}" for one less.
    std::string text;
    // Parameters that must be there for the term to count, or must not; empty:
    // none.
    std::string only_if;
    std::string unless;
  };
  std::vector<Term> terms;
  // Absent: each use must name its tensors.
  std::optional<model::RuleSelection> selection;
  std::vector<model::SeriesPart> series;
  std::vector<std::pair<std::string, std::string>> reduce;

  // The expression with these values; absent if they leave none.
  std::optional<std::string> When(const RuleParams& values) const;
};

struct BuiltIn {
  std::string id;
  std::string title;
  std::vector<RuleParam> params;
  // Expressions, of which any may match. Empty: the rule is a Python class.
  std::vector<RulePart> parts;
  std::shared_ptr<const conditions::Advice> advice;

  bool in_python() const { return parts.empty(); }
  bool needs_selection() const;
  // Null if there is none.
  const RuleParam* Param(std::string_view name) const;
  // The defaults.
  RuleParams Defaults() const;
};

// All of them, in the order in which they are listed. Exists until the process
// ends. Any thread.
const std::vector<BuiltIn>& Catalogue();
// Null if there is none.
const BuiltIn* Find(std::string_view id);

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_CATALOGUE_H_
