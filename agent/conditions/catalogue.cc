#include "agent/conditions/catalogue.h"

#include <cmath>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::conditions {
namespace {

constexpr char kValue[] = "value";

// What a comparison compares.
struct Compared {
  const char* name;
  const char* words;
  double Statistics::*statistic;
};

constexpr Compared kCompared[] = {
    {"min", "minimum", &Statistics::min},
    {"max", "maximum", &Statistics::max},
    {"mean", "mean", &Statistics::mean},
    {"abs_max", "largest absolute value", &Statistics::abs_max},
    {"abs_mean", "mean absolute value", &Statistics::abs_mean},
};

Condition Comparison(const Compared& compared, bool greater) {
  Condition condition;
  condition.id = absl::StrCat(compared.name, greater ? "_gt" : "_lt");
  const char* relation = greater ? "above" : "below";
  condition.title = absl::StrCat(compared.words, " ", relation, " a number");
  condition.title[0] = static_cast<char>(condition.title[0] - 'a' + 'A');
  condition.help = absl::StrCat("The ", compared.words,
                                " of the tensor's finite elements is ",
                                relation, " the value.");
  condition.target = "tensor";
  condition.params = {{kValue, "number", std::nullopt, "", true}};
  condition.nan_policy =
      "NaN and infinities are left out; a tensor without finite elements does "
      "not meet it.";
  return condition;
}

Condition NonFinite(const char* id, const char* title, const char* help) {
  return {id, title, help, "tensor", {}, "An empty tensor does not meet it."};
}

std::vector<Condition> MakeCatalogue() {
  std::vector<Condition> rows = {
      NonFinite("nan", "Not a number", "At least one element is NaN."),
      NonFinite("inf", "Infinity",
                "At least one element is infinite. Infinities that the program "
                "asked for by name, as in masked_fill(mask, -inf), are not "
                "reported."),
      NonFinite("overflow", "NaN or infinity",
                "At least one element is NaN or infinite. Infinities that the "
                "program asked for by name are not reported."),
  };
  for (const Compared& compared : kCompared) {
    rows.push_back(Comparison(compared, true));
    rows.push_back(Comparison(compared, false));
  }
  return rows;
}

absl::Status FieldError(absl::string_view reason, absl::string_view field,
                        absl::string_view message) {
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat(field, ": ", message));
  status.SetPayload("graphdbg/reason", absl::Cord(reason));
  status.SetPayload("graphdbg/field", absl::Cord(field));
  return status;
}

absl::Status ParameterError(absl::string_view name, absl::string_view message) {
  return FieldError("invalid_condition",
                    absl::StrCat("condition.params.", name), message);
}

const Parameter* FindParameter(const Condition& condition,
                               const std::string& name) {
  for (const Parameter& parameter : condition.params) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace

const std::vector<Condition>& Catalogue() {
  static const auto* rows = new std::vector<Condition>(MakeCatalogue());
  return *rows;
}

const Condition* Find(absl::string_view id) {
  for (const Condition& condition : Catalogue()) {
    if (condition.id == id) return &condition;
  }
  return nullptr;
}

absl::Status Validate(absl::string_view id,
                      const std::map<std::string, double>& params) {
  const Condition* condition = Find(id);
  if (condition == nullptr) {
    return FieldError(
        "unknown_condition", "condition.id",
        absl::StrCat("there is no condition \"", id.substr(0, 100), "\""));
  }
  for (const auto& [name, value] : params) {
    if (FindParameter(*condition, name) == nullptr) {
      return ParameterError(
          name.substr(0, 100),
          absl::StrCat("condition \"", id, "\" has no such parameter"));
    }
    if (!std::isfinite(value)) {
      return ParameterError(name, "has to be a finite number");
    }
  }
  for (const Parameter& parameter : condition->params) {
    if (parameter.required && params.count(parameter.name) == 0) {
      return ParameterError(
          parameter.name, absl::StrCat("condition \"", id, "\" needs a value"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const std::map<std::string, double>& params) {
  if (absl::Status status = Validate(id, params); !status.ok()) return status;
  if (id == "nan") return Predicate::NonFinite(Predicate::Kind::kNan);
  if (id == "inf") return Predicate::NonFinite(Predicate::Kind::kInf);
  if (id == "overflow") {
    return Predicate::NonFinite(Predicate::Kind::kOverflow);
  }
  for (const Compared& compared : kCompared) {
    const double bound = params.at(kValue);
    if (id == absl::StrCat(compared.name, "_gt")) {
      return Predicate::Compare(compared.statistic, compared.name,
                                Predicate::Kind::kGreater, bound);
    }
    if (id == absl::StrCat(compared.name, "_lt")) {
      return Predicate::Compare(compared.statistic, compared.name,
                                Predicate::Kind::kLess, bound);
    }
  }
  return absl::InternalError(
      absl::StrCat("condition \"", id, "\" has a row but no predicate"));
}

}  // namespace graphdbg::conditions
