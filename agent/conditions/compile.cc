// Validates a watchpoint's condition against the catalogue, and compiles it
// into a predicate.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::conditions {
namespace {

using Params = std::map<std::string, double>;

constexpr char kColumnUrl[] = "graphdbg/column";
constexpr char kExpression[] = "expression";
constexpr char kChoice[] = "choice";
constexpr char kAbsorbed[] = "absorbed";
constexpr char kPropagated[] = "propagated";
constexpr char kStop[] = "stop";
constexpr char kAxis[] = "axis";
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
    return ParameterError(parameter.name,
                          absl::StrCat("must be ", limit..., ", not ", value));
  };
  if (!std::isfinite(value)) {
    return ParameterError(parameter.name, "must be a finite number");
  }
  if (parameter.type == "bool" && value != 0 && value != 1) {
    return wrong("true or false");
  }
  if (parameter.whole && value != std::floor(value)) {
    return wrong("a whole number");
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

// Returns the condition's parameter of this name, which must be of the given
// type.
absl::StatusOr<const Parameter*> Lookup(const Condition& condition,
                                        const std::string& name, bool text) {
  const Parameter* parameter = FindParameter(condition, name);
  if (parameter == nullptr) {
    return ParameterError(
        name.substr(0, 100),
        absl::StrCat("condition \"", condition.id, "\" has no such parameter"));
  }
  const bool is_text =
      parameter->type == kExpression || parameter->type == kChoice;
  if (is_text != text) {
    return ParameterError(
        name, absl::StrCat("must be a ", text ? "number" : "string"));
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

absl::Status CheckChoice(const Parameter& parameter, const std::string& text) {
  const auto& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
    return absl::OkStatus();
  }
  return ParameterError(parameter.name,
                        absl::StrCat("must be ", absl::StrJoin(choices, " or "),
                                     ", not \"", text.substr(0, 100), "\""));
}

absl::Status CheckTexts(const Condition& condition,
                        const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    ASSIGN_OR_RETURN(const Parameter* parameter,
                     Lookup(condition, name, /*text=*/true));
    RETURN_IF_ERROR(parameter->type == kChoice ? CheckChoice(*parameter, text)
                                               : CheckExpression(text));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Condition& condition, const Params& params) {
  for (const auto& [name, value] : params) {
    ASSIGN_OR_RETURN(const Parameter* parameter,
                     Lookup(condition, name, /*text=*/false));
    RETURN_IF_ERROR(CheckValue(*parameter, value));
  }
  return absl::OkStatus();
}

// Returns the values that apply: those given, and defaults.
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
          absl::StrCat("condition \"", condition.id, "\" requires a value"));
    }
    if (!parameter.tested) continue;
    tested.push_back(parameter.name);
    any |= present;
  }
  if (tested.empty() || any) return absl::OkStatus();
  return FieldError(
      "invalid_condition", "condition.params",
      absl::StrCat("condition \"", condition.id, "\" requires at least one of ",
                   absl::StrJoin(tested, ", ")));
}

absl::Status CheckRange(const Params& resolved) {
  const auto start = resolved.find(kRangeStart), end = resolved.find(kRangeEnd);
  for (const char* share : {"range_percentage_lt", "range_percentage_gt"}) {
    if (resolved.count(share) == 0) continue;
    for (const char* bound : {kRangeStart, kRangeEnd}) {
      if (resolved.count(bound) == 0) {
        return ParameterError(bound, absl::StrCat("required by ", share));
      }
    }
  }
  if (start == resolved.end() || end == resolved.end() ||
      start->second <= end->second) {
    return absl::OkStatus();
  }
  return ParameterError(kRangeStart,
                        absl::StrCat("must be at most ", kRangeEnd, " (",
                                     end->second, "), not ", start->second));
}

// Splits "max_gt" into the measure "max" and its relation.
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
        absl::StrCat("unknown condition \"", id.substr(0, 100), "\""));
  }
  const Params resolved = Resolve(*condition, arguments.numbers);
  RETURN_IF_ERROR(CheckNumbers(*condition, arguments.numbers));
  RETURN_IF_ERROR(CheckTexts(*condition, arguments.texts));
  RETURN_IF_ERROR(CheckPresent(*condition, resolved, arguments));
  return CheckRange(resolved);
}

absl::StatusOr<Predicate> Compile(absl::string_view id,
                                  const Arguments& arguments) {
  RETURN_IF_ERROR(Validate(id, arguments));
  const Condition& condition = *Find(id);
  // No tensor matches it.
  if (condition.reported_by_program()) return Predicate::AnyOf({});
  if (id == "executed") return Predicate::OnExecution();
  if (id == "operator_overflow") return Predicate::OverflowFlag();
  if (FindParameter(condition, kPropagated) != nullptr) {
    const auto stops = [&arguments](const char* parameter) {
      const auto text = arguments.texts.find(parameter);
      return text != arguments.texts.end() && text->second == kStop;
    };
    Predicate predicate = Predicate::NonFinite(id != "inf", id != "nan");
    if (!stops(kAbsorbed)) predicate.WaitForReader();
    if (!stops(kPropagated)) predicate.PassOverPropagated();
    return predicate;
  }
  Predicate predicate =
      arguments.texts.empty()
          ? Predicate::AnyOf(
                TermsOf(condition, Resolve(condition, arguments.numbers)))
          : Predicate::FromExpression(
                *Expression::Parse(arguments.texts.at(kExpression)));
  if (condition.before_first_step) predicate.OnlyBeforeFirstStep();
  if (const auto axis = arguments.numbers.find(kAxis);
      axis != arguments.numbers.end()) {
    predicate.TestChannelsOf(static_cast<int>(axis->second));
  }
  return predicate;
}

}  // namespace graphdbg::conditions
