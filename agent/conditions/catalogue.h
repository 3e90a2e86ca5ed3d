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

namespace graphdbg::conditions {

struct Parameter {
  std::string name;
  // Name of a type in the API; "number" is the only one so far.
  std::string type;
  std::optional<double> default_value;
  // Empty: a plain number, in the tensor's own unit.
  std::string unit;
  bool required = false;
};

struct Condition {
  // Stable; part of the API and of the wire.
  std::string id;
  std::string title;
  std::string help;
  // What it looks at: "tensor".
  std::string target;
  std::vector<Parameter> params;
  // What it answers for NaN, infinities and empty tensors.
  std::string nan_policy;
};

// All conditions, in the order in which people should see them. Lives for
// ever; any thread.
const std::vector<Condition>& Catalogue();

// Null if there is none of this id.
const Condition* Find(absl::string_view id);

// The error names the wrong field in its message and, for programs, in its
// payload "graphdbg/field": "condition.id", "condition.params.value". Its
// payload "graphdbg/reason" is "unknown_condition" or "invalid_condition".
absl::Status Validate(absl::string_view id,
                      const std::map<std::string, double>& params);

// Errors as Validate.
absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const std::map<std::string, double>& params);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_CATALOGUE_H_
