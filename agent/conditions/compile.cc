// Rows of the catalogue with a watchpoint's parameters: whether these make
// sense, and the predicate.
#include <cmath>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/conditions/catalogue.h"

namespace graphdbg::conditions {
namespace {

using Params = std::map<std::string, double>;

constexpr char kColumnUrl[] = "graphdbg/column";
constexpr char kExpression[] = "expression";
constexpr char kRangeStart[] = "range_start_inclusive";
constexpr char kRangeEnd[] = "range_end_inclusive";

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

absl::Status CheckValue(const Parameter& parameter, double value) {
  const auto wrong = [&](auto... limit) {
    return ParameterError(
        parameter.name, absl::StrCat("has to be ", limit..., ", not ", value));
  };
  if (!std::isfinite(value)) {
    return ParameterError(parameter.name, "has to be a finite number");
  }
  if (parameter.type == "bool" && value != 0 && value != 1) {
    return wrong("true or false");
  }
  if (parameter.min && parameter.above_min && value <= *parameter.min) {
    return wrong("above ", *parameter.min);
  }
  if (parameter.min && value < *parameter.min) {
    return wrong("at least ", *parameter.min);
  }
  if (parameter.max && value > *parameter.max) {
    return wrong("at most ", *parameter.max);
  }
  return absl::OkStatus();
}

// The condition's parameter of this name, which has to be a text or a number.
absl::StatusOr<const Parameter*> Lookup(const Condition& condition,
                                        const std::string& name, bool text) {
  const Parameter* parameter = FindParameter(condition, name);
  if (parameter == nullptr) {
    return ParameterError(
        name.substr(0, 100),
        absl::StrCat("condition \"", condition.id, "\" has no such parameter"));
  }
  if ((parameter->type == kExpression) != text) {
    return ParameterError(
        name, absl::StrCat("has to be a ", text ? "number" : "text"));
  }
  return parameter;
}

absl::Status CheckExpression(const std::string& text) {
  const absl::Status status = Expression::Parse(text).status();
  if (status.ok()) return status;
  absl::Status named = ParameterError(kExpression, status.message());
  if (auto column = status.GetPayload(kColumnUrl)) {
    named.SetPayload(kColumnUrl, absl::Cord(std::string(*column)));
  }
  return named;
}

absl::Status CheckTexts(const Condition& condition,
                        const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    absl::Status status = Lookup(condition, name, /*text=*/true).status();
    if (status.ok()) status = CheckExpression(text);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Condition& condition, const Params& params) {
  for (const auto& [name, value] : params) {
    const auto parameter = Lookup(condition, name, /*text=*/false);
    if (!parameter.ok()) return parameter.status();
    if (absl::Status status = CheckValue(**parameter, value); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

// The values that count: those given, and defaults.
Params Resolve(const Condition& condition, const Params& params) {
  bool any_tested = false;
  for (const Parameter& parameter : condition.params) {
    any_tested |= parameter.tested && params.count(parameter.name) > 0;
  }
  Params resolved = params;
  for (const Parameter& parameter : condition.params) {
    if (!parameter.default_value || (parameter.tested && any_tested)) continue;
    resolved.emplace(parameter.name, *parameter.default_value);
  }
  return resolved;
}

absl::Status CheckPresent(const Condition& condition, const Params& resolved,
                          const Arguments& arguments) {
  std::vector<std::string> tested;
  bool any = false;
  for (const Parameter& parameter : condition.params) {
    const bool present = resolved.count(parameter.name) > 0 ||
                         arguments.texts.count(parameter.name) > 0;
    if (parameter.required && !present) {
      return ParameterError(
          parameter.name,
          absl::StrCat("condition \"", condition.id, "\" needs a value"));
    }
    if (!parameter.tested) continue;
    tested.push_back(parameter.name);
    any |= present;
  }
  if (tested.empty() || any) return absl::OkStatus();
  return FieldError(
      "invalid_condition", "condition.params",
      absl::StrCat("condition \"", condition.id, "\" needs at least one of ",
                   absl::StrJoin(tested, ", ")));
}

absl::Status CheckRange(const Params& resolved) {
  const auto start = resolved.find(kRangeStart), end = resolved.find(kRangeEnd);
  for (const char* share : {"range_percentage_lt", "range_percentage_gt"}) {
    if (resolved.count(share) == 0) continue;
    for (const char* bound : {kRangeStart, kRangeEnd}) {
      if (resolved.count(bound) == 0) {
        return ParameterError(bound, absl::StrCat(share, " needs it"));
      }
    }
  }
  if (start == resolved.end() || end == resolved.end() ||
      start->second <= end->second) {
    return absl::OkStatus();
  }
  return ParameterError(kRangeStart,
                        absl::StrCat("has to be at most ", kRangeEnd, " (",
                                     end->second, "), not ", start->second));
}

// "max_gt" is the measure "max" and a relation.
absl::string_view SplitRelation(absl::string_view text, Relation* relation) {
  struct Suffix {
    const char* text;
    Relation relation;
  };
  for (const Suffix& suffix :
       {Suffix{"_gt", Relation::kGreater},
        Suffix{"_ge", Relation::kGreaterEqual}, Suffix{"_lt", Relation::kLess},
        Suffix{"_le", Relation::kLessEqual}}) {
    if (!absl::EndsWith(text, suffix.text)) continue;
    *relation = suffix.relation;
    return absl::StripSuffix(text, suffix.text);
  }
  return text;
}

Quantity QuantityOf(absl::string_view measure, const Params& resolved) {
  if (measure == "range_percentage") {
    return RangePercentage{resolved.at(kRangeStart), resolved.at(kRangeEnd)};
  }
  if (measure == "abs_mean_update_ratio") {
    return UpdateRatio{resolved.at("epsilon")};
  }
  return FindMeasure(measure);
}

std::vector<Term> TermsOf(const Condition& condition, const Params& resolved) {
  std::vector<Term> terms;
  Term term;
  for (const Parameter& parameter : condition.params) {
    const auto bound = resolved.find(parameter.name);
    if (!parameter.tested || bound == resolved.end()) continue;
    term.name = parameter.name;
    term.quantity =
        QuantityOf(SplitRelation(parameter.name, &term.relation), resolved);
    term.bound = bound->second;
    terms.push_back(term);
  }
  if (!terms.empty()) return terms;
  if (const auto rtol = resolved.find("rtol"); rtol != resolved.end()) {
    const Tolerance tolerance{rtol->second, resolved.at("atol"),
                              resolved.at("equal_nan") != 0};
    return {
        {"changed_count", ChangedCount{tolerance}, Relation::kLessEqual, 0}};
  }
  const absl::string_view measure = SplitRelation(condition.id, &term.relation);
  return {{std::string(measure), FindMeasure(measure), term.relation,
           resolved.at("value")}};
}

}  // namespace

absl::Status Validate(absl::string_view id, const Arguments& arguments) {
  const Condition* condition = Find(id);
  if (condition == nullptr) {
    return FieldError(
        "unknown_condition", "condition.id",
        absl::StrCat("there is no condition \"", id.substr(0, 100), "\""));
  }
  const Params resolved = Resolve(*condition, arguments.numbers);
  absl::Status status = CheckNumbers(*condition, arguments.numbers);
  if (status.ok()) status = CheckTexts(*condition, arguments.texts);
  if (status.ok()) status = CheckPresent(*condition, resolved, arguments);
  if (status.ok()) status = CheckRange(resolved);
  return status;
}

absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const Arguments& arguments) {
  absl::Status status = Validate(id, arguments);
  if (!status.ok()) return status;
  const Condition& condition = *Find(id);
  if (id == "operator_overflow") return Predicate::OverflowFlag();
  if (condition.params.empty()) {
    return Predicate::NonFinite(id != "inf", id != "nan");
  }
  if (!arguments.texts.empty()) {
    return Predicate::Of(*Expression::Parse(arguments.texts.at(kExpression)));
  }
  Predicate predicate = Predicate::AnyOf(
      TermsOf(condition, Resolve(condition, arguments.numbers)));
  if (condition.before_first_step) predicate.OnlyBeforeFirstStep();
  return predicate;
}

}  // namespace graphdbg::conditions
