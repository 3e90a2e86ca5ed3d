#include "server/api/decode_rules.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "agent/conditions/advice.h"
#include "proto/wire/status_macros.h"
#include "server/api/decode_actions.h"
#include "server/model/enum_names.h"
#include "server/rules/catalogue.h"

namespace graphdbg::api {
namespace {

// A check takes no more: see runs/rule_selection.h.
constexpr size_t kMaxRules = 64;
constexpr size_t kMaxRuleNameBytes = 200;
constexpr uint64_t kMaxObservations = 1'000'000'000;

template <class Enum>
std::optional<std::vector<Enum>> Choices(BodyReader& body, const char* name) {
  const auto words = body.Texts(name);
  if (!words) return std::nullopt;
  std::vector<Enum> values;
  for (const std::string& word : *words) {
    const auto value = model::Parse<Enum>(word);
    if (!value) {
      body.Fail(name + ("[" + std::to_string(values.size()) + "]"),
                "'" + word + "' is none of " + model::AllNames<Enum>());
      break;
    }
    values.push_back(*value);
  }
  return values;
}

model::RuleSelection ReadSelection(BodyReader& body) {
  model::RuleSelection selection;
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"collections", &selection.collections},
      {"include", &selection.include},
      {"exclude", &selection.exclude},
      {"op_types", &selection.op_types},
      {"nodes", &selection.nodes},
      {"scopes", &selection.scopes},
      {"patterns", &selection.patterns}};
  for (const auto& [name, list] : lists) {
    if (auto texts = body.Texts(name)) *list = std::move(*texts);
  }
  if (auto chosen = Choices<model::Category>(body, "categories")) {
    selection.categories = std::move(*chosen);
  }
  body.RefuseOthers();
  return selection;
}

// The fields that rules of all kinds have in common: what a rule selects, and
// how often it is reported.
struct CommonFields {
  std::optional<model::RuleSelection> selection;
  std::optional<std::vector<model::SeriesPart>> series;
  std::vector<std::pair<std::string, std::string>> reduce;
  std::optional<uint64_t> hold;
  std::optional<uint64_t> cool_down;

  // Sets the fields that were given; the others of `rule` stay.
  void ApplyTo(model::RuleSpec& rule) const {
    if (selection) rule.selection = *selection;
    if (series) rule.series = *series;
    if (!reduce.empty()) rule.reduce = reduce;
    if (hold) rule.hold = static_cast<uint32_t>(*hold);
    if (cool_down) rule.cool_down = static_cast<uint32_t>(*cool_down);
  }
};

CommonFields ReadCommonFields(BodyReader& body) {
  CommonFields fields;
  if (auto select = body.Object("select")) {
    fields.selection = ReadSelection(*select);
  }
  fields.series = Choices<model::SeriesPart>(body, "series");
  const Scalars reduce = body.ReadScalars("reduce");
  for (const auto& [key, number] : reduce.numbers) {
    body.Fail("reduce." + key, "must be a text such as max(l2)");
  }
  fields.reduce.assign(reduce.texts.begin(), reduce.texts.end());
  fields.hold = body.Integer("for", 1, kMaxObservations);
  fields.cool_down = body.Integer("cool_down", 0, kMaxObservations);
  return fields;
}

// A rule with its name and the common fields.
model::RuleSpec ReadNamedRule(BodyReader& body) {
  model::RuleSpec rule;
  ReadCommonFields(body).ApplyTo(rule);
  rule.name = ReadRuleName(body, "name");
  return rule;
}

const rules::BuiltIn* FindBuiltIn(const std::string& id, const char* field,
                                  BodyReader& body) {
  const rules::BuiltIn* const rule = rules::Find(id);
  if (rule == nullptr) {
    body.Fail(field, "is '" + id + "', which is not a built-in rule");
  }
  return rule;
}

// A rule by its expression.
model::RuleSpec ReadExpression(const std::string& when, BodyReader& body) {
  model::RuleSpec rule = ReadNamedRule(body);
  rule.when = when;
  if (const auto base = body.Text("base"); base && !base->empty()) {
    const rules::BuiltIn* const known = FindBuiltIn(*base, "base", body);
    if (known == nullptr) return rule;
    rule.base = *base;
    rule.advice = known->advice;
  } else {
    rule.advice = std::make_shared<const conditions::Advice>(
        conditions::AdviceForExpression(when));
  }
  return rule;
}

// The parameters that the request gives, and the defaults of the others.
rules::RuleParams ReadParams(const rules::BuiltIn& rule, BodyReader& body) {
  rules::RuleParams values = rule.Defaults();
  const Scalars given = body.ReadScalars("params");
  for (const auto& [name, text] : given.texts) {
    const rules::RuleParam* const param = rule.Param(name);
    body.Fail("params." + name, param == nullptr
                                    ? "is not a parameter of the rule"
                                    : "must be " + param->Accepts());
  }
  for (const auto& [name, value] : given.numbers) {
    const rules::RuleParam* const param = rule.Param(name);
    if (param == nullptr) {
      body.Fail("params." + name, "is not a parameter of the rule");
    } else if (!param->Accepts(value)) {
      body.Fail("params." + name, "must be " + param->Accepts());
    } else if (param->type == "bool" && value == 0) {
      values.erase(name);
    } else {
      values[name] = value;
    }
  }
  return values;
}

std::string RequiredParams(const rules::RulePart& part) {
  return absl::StrJoin(part.terms, " or ",
                       [](std::string* text, const auto& term) {
                         text->append(term.only_if);
                       }) +
         " is required";
}

// A built-in rule with its parameters. A rule that consists of several
// expressions becomes one rule for each of them; their names are numbered.
std::vector<model::RuleSpec> ReadBuiltIn(const std::string& id,
                                         BodyReader& body) {
  const CommonFields fields = ReadCommonFields(body);
  const std::string name = body.Text("name") ? ReadRuleName(body, "name") : id;
  const rules::BuiltIn* const rule = FindBuiltIn(id, "rule", body);
  if (rule == nullptr) return {};
  if (rule->in_python()) {
    body.Fail("rule", "is '" + id +
                          "', a rule in Python, which the server does not "
                          "evaluate: graphdbg rules RUN --rule " +
                          id);
    return {};
  }
  const rules::RuleParams values = ReadParams(*rule, body);
  const bool several = rule->parts.size() > 1;
  if (several &&
      (fields.selection || fields.series || !fields.reduce.empty())) {
    body.Fail("rule",
              "has selections and series of its own, and accepts no "
              "others");
  }
  std::vector<model::RuleSpec> specs;
  for (const rules::RulePart& part : rule->parts) {
    model::RuleSpec& spec = specs.emplace_back();
    spec.name = name;
    if (several) spec.name += " (" + std::to_string(specs.size()) + ")";
    const auto when = part.When(values);
    if (!when) body.Fail("params", RequiredParams(part));
    spec.when = when.value_or("");
    if (!fields.selection && !part.selection) {
      body.Fail("select", "is missing: the rule needs a selection of tensors");
    }
    spec.selection = part.selection.value_or(model::RuleSelection());
    spec.series = part.series;
    spec.reduce = part.reduce;
    fields.ApplyTo(spec);
    spec.base = id;
    spec.advice = rule->advice;
  }
  return specs;
}

// Without RefuseOthers.
std::vector<model::RuleSpec> ReadRule(BodyReader& body) {
  const auto when = body.Text("when");
  const auto id = body.Text("rule");
  if (when && id) {
    body.Fail("when", "and 'rule' exclude each other");
    return {};
  }
  if (id) return ReadBuiltIn(*id, body);
  if (!when) body.Fail("when", "is missing, or 'rule', a built-in rule");
  return {ReadExpression(when.value_or(""), body)};
}

// A rule in Python, which the caller evaluates.
model::RuleSpec ReadClass(const std::string& id, BodyReader& body) {
  model::RuleSpec rule = ReadNamedRule(body);
  if (const rules::BuiltIn* const known = rules::Find(id)) {
    rule.base = id;
    rule.advice = known->advice;
  }
  return rule;
}

void ReadLiveRule(BodyReader& body, AddedRules& added) {
  std::vector<model::RuleSpec> specs;
  const auto python_class = body.Text("class");
  if (python_class) {
    specs.push_back(ReadClass(*python_class, body));
  } else {
    specs = ReadRule(body);
  }
  const auto actions = ReadActions(body);
  const auto act_from = body.Integer("act_from", 0, UINT64_MAX);
  for (model::RuleSpec& spec : specs) {
    model::LiveRule rule{std::move(spec), {}, act_from};
    if (actions) rule.actions = *actions;
    if (python_class) {
      added.reported.push_back({std::move(rule), *python_class});
    } else {
      added.expressions.push_back(std::move(rule));
    }
  }
  body.RefuseOthers();
}

// Readers of the rules; empty if there are none, or an error.
std::vector<BodyReader> RuleReaders(BodyReader& body) {
  auto readers = body.Objects("rules");
  if (!readers) return {};
  if (readers->empty() || readers->size() > kMaxRules) {
    body.Fail("rules", "must be a list of 1 to 64 rules");
    return {};
  }
  return *std::move(readers);
}

}  // namespace

std::string ReadRuleName(BodyReader& body, const char* field) {
  std::string name = body.Text(field).value_or("");
  if (name.empty() || name.size() > kMaxRuleNameBytes) {
    body.Fail(field, "must be a text of 1 to 200 bytes");
  }
  return name;
}

std::vector<model::RuleSpec> ReadRules(BodyReader& body) {
  std::vector<model::RuleSpec> rules;
  for (BodyReader& reader : RuleReaders(body)) {
    for (model::RuleSpec& rule : ReadRule(reader)) {
      rules.push_back(std::move(rule));
    }
    reader.RefuseOthers();
  }
  return rules;
}

absl::StatusOr<AddedRules> DecodeLiveRules(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson json, ParseObject(text));
  absl::Status status;
  BodyReader body(json, "", status);
  AddedRules added;
  for (BodyReader& reader : RuleReaders(body)) ReadLiveRule(reader, added);
  if (added.expressions.empty() && added.reported.empty()) {
    body.Fail("rules", "is missing");
  } else if (!added.expressions.empty() && !added.reported.empty()) {
    body.Fail("rules", "must all have a class, or none");
  }
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return added;
}

}  // namespace graphdbg::api
