// The conditions that a watchpoint can have: one row each, from which the
// agent, the server's API, the page and the documentation are made.
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
  // In words; of what is tested, without the relation that ends the name:
  // "mean |x|" of abs_mean_gt.
  std::string title;
  // Name of a type in the API: "number"; "bool", a number that is 0 or 1; or
  // "expression", a text as expression.h has it.
  std::string type;
  std::optional<double> default_value;
  // Where there is no default, a value to begin with: what forms show.
  std::optional<double> suggested;
  // "percent", or empty: a plain number, in the tensor's own unit.
  std::string unit;
  bool required = false;
  // It is compared with; of these, at least one has to be given, and the
  // condition is met if any that is given holds. The defaults of these count
  // only where none is given.
  bool tested = false;
  // Seldom changed.
  bool advanced = false;
  std::optional<double> min, max;
  // The value has to be above `min`, not equal to it.
  bool above_min = false;
};

struct Condition {
  // Stable; part of the API and of the wire.
  std::string id;
  std::string title;
  std::string help;
  // What it is about: "weight", "gradient", "activation", or "tensor" for all
  // of them.
  std::string target;
  std::vector<Parameter> params;
  // What it answers for NaN, infinities and empty tensors.
  std::string nan_policy;
  // Its number in MindSpore's debugger.
  std::optional<int> wire_condition;
  // Where it can be checked: on tensors of these devices.
  std::vector<std::string> backends = {"cpu", "cuda", "ascend"};
  // Only the values from before the first step are looked at.
  bool before_first_step = false;
};

// All conditions, in the order in which people should see them. Lives for
// ever; any thread.
const std::vector<Condition>& Catalogue();

// Null if there is none of this id.
const Condition* Find(absl::string_view id);

// The only nodes that it applies to; absent: all.
std::optional<Category> TargetOf(const Condition& condition);

// A watchpoint's parameters, by name.
struct Arguments {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

// The error names the wrong field in its message and, for programs, in its
// payload "graphdbg/field": "condition.id", "condition.params.value". Its
// payload "graphdbg/reason" is "unknown_condition" or "invalid_condition". An
// error within a text has its column, from 1, as payload "graphdbg/column".
absl::Status Validate(absl::string_view id, const Arguments& arguments);

// Errors as Validate, and UNIMPLEMENTED with the reason "unsupported_condition"
// for what cannot be checked in host memory.
absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const Arguments& arguments);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_CATALOGUE_H_
