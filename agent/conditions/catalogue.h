// The catalogue of conditions that a watchpoint can have. The agent's checks,
// the server's API and the page are all derived from it.
#ifndef AGENT_CONDITIONS_CATALOGUE_H_
#define AGENT_CONDITIONS_CATALOGUE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/predicate.h"
#include "agent/conditions/selector.h"

namespace graphdbg::conditions {

struct Parameter {
  std::string name;
  // The displayed name. For a tested quantity, without the relation at the end
  // of `name`: "mean |x|" for abs_mean_gt.
  std::string title;
  // The name of the type in the API: "number"; "bool", a number that is 0 or 1;
  // "choice", one of `choices`; or "expression", a string in the syntax of
  // expression.h.
  std::string type;
  // The first is the default.
  std::vector<std::string> choices;
  std::optional<double> default_value;
  // An initial value that forms show if there is no default.
  std::optional<double> suggested;
  // "percent", or empty for a number in the unit of the tensor.
  std::string unit;
  bool required = false;
  // A quantity is compared with it. At least one tested parameter must be
  // given, and the condition matches if any comparison that is given is true.
  // Defaults of tested parameters apply only if none is given.
  bool tested = false;
  // Rarely changed.
  bool advanced = false;
  std::optional<double> min, max;
  // The value must be greater than `min`, not equal to it.
  bool above_min = false;
  // A number without a fraction.
  bool whole = false;
};

struct Condition {
  // Stable; part of the API and of the wire.
  std::string id;
  std::string title;
  std::string help;
  // The tensors that it applies to: "weight", "gradient", "activation", or
  // "tensor" for all of them. "op" for a condition on the execution of ops,
  // whose tensors are not read. "training" for a condition of the training as
  // a whole, which the program tests and reports itself (graphdbg_report).
  std::string target;
  std::vector<Parameter> params;
  // How it treats NaN, infinities and empty tensors.
  std::string nan_policy;
  // Its number in MindSpore's debugger.
  std::optional<int> wire_condition;
  // The devices whose tensors it can be checked on.
  std::vector<std::string> backends = {"cpu", "cuda", "ascend"};
  // Only checks the values before the first step.
  bool before_first_step = false;

  // No values of tensors are tested.
  bool reported_by_program() const { return target == "training"; }
};

// All conditions in display order. Exists until the process ends. Any thread.
const std::vector<Condition>& Catalogue();

// Null if there is no condition with this id.
const Condition* Find(absl::string_view id);

// The nodes that it applies to.
Target TargetOf(const Condition& condition);

// A watchpoint's parameters, by name.
struct Arguments {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

// Errors name the invalid field in the message and in the payload
// "graphdbg/field", for example "condition.id" or "condition.params.value". The
// payload "graphdbg/reason" is "unknown_condition" or "invalid_condition". For
// an error within an expression, the payload "graphdbg/column" is its column
// from 1.
absl::Status Validate(absl::string_view id, const Arguments& arguments);

// Fails with the same errors as Validate.
absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const Arguments& arguments);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_CATALOGUE_H_
