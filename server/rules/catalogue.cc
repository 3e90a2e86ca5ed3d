#include "server/rules/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/model/enum_names.h"

extern "C" const unsigned char graphdbg_rules[];
extern "C" const uint64_t graphdbg_rules_size;

namespace graphdbg::rules {
namespace {

using Json = nlohmann::ordered_json;

// In the fewest digits.
std::string NumberText(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}

template <class T>
T Get(const Json& entry, const char* key, T otherwise) {
  return entry.contains(key) ? entry[key].get<T>() : std::move(otherwise);
}

std::optional<double> Limit(const Json& entry, const char* key) {
  if (!entry.contains(key)) return std::nullopt;
  return entry[key].get<double>();
}

RuleParam ReadParam(const Json& entry) {
  RuleParam param;
  param.name = entry["name"];
  param.type = entry["type"];
  if (entry.contains("default")) {
    const Json& value = entry["default"];
    if (value.is_string()) {
      param.text = value;
    } else {
      param.number = value.is_boolean() ? (value.get<bool>() ? 1 : 0)
                                        : value.get<double>();
    }
  }
  param.optional = Get(entry, "optional", false);
  param.min = Limit(entry, "min");
  param.max = Limit(entry, "max");
  param.unit = Get(entry, "unit", std::string());
  param.help = Get(entry, "help", std::string());
  return param;
}

model::RuleSelection ReadSelection(const Json& entry) {
  using Texts = std::vector<std::string>;
  model::RuleSelection selection;
  selection.collections = Get(entry, "collections", Texts());
  selection.op_types = Get(entry, "op_types", Texts());
  selection.exclude = Get(entry, "exclude", Texts());
  return selection;
}

RulePart ReadPart(const Json& entry) {
  RulePart part;
  for (const Json& term : entry["when"]) {
    part.terms.push_back({term["text"], Get(term, "if", std::string()),
                          Get(term, "unless", std::string())});
  }
  if (entry.contains("select")) {
    part.selection = ReadSelection(entry["select"]);
  }
  if (entry.contains("series")) {
    for (const Json& name : entry["series"]) {
      part.series.push_back(
          *model::Parse<model::SeriesPart>(name.get<std::string>()));
    }
  } else {
    part.series = model::RuleSpec().series;
  }
  if (entry.contains("reduce")) {
    for (const auto& [name, value] : entry["reduce"].items()) {
      part.reduce.emplace_back(name, value);
    }
  }
  return part;
}

std::vector<BuiltIn> ReadCatalogue() {
  const Json json =
      Json::parse(graphdbg_rules, graphdbg_rules + graphdbg_rules_size);
  std::vector<BuiltIn> all;
  for (const Json& entry : json["rules"]) {
    BuiltIn& rule = all.emplace_back();
    rule.id = entry["id"];
    rule.title = entry["title"];
    for (const Json& param : entry["params"]) {
      rule.params.push_back(ReadParam(param));
    }
    if (entry.contains("parts")) {
      for (const Json& part : entry["parts"]) {
        rule.parts.push_back(ReadPart(part));
      }
    }
    rule.advice = std::make_shared<const conditions::Advice>(
        conditions::Advice{entry["causes"], entry["next"]});
  }
  return all;
}

// The text with parameters in place of their names in braces.
std::string Fill(std::string text, const RuleParams& values) {
  for (const auto& [name, value] : values) {
    absl::StrReplaceAll(
        {{absl::StrCat("{", name, "}"), NumberText(value)},
         {absl::StrCat("{", name, "-1}"), NumberText(value - 1)}},
        &text);
  }
  return text;
}

}  // namespace

std::string RuleParam::Accepts() const {
  std::string text = type == "bool"  ? "true or false"
                     : type == "int" ? "a whole number"
                     : type == "str" ? "a text"
                                     : "a number";
  if (min && max) {
    absl::StrAppend(&text, " from ", NumberText(*min), " to ",
                    NumberText(*max));
  } else if (min) {
    absl::StrAppend(&text, " of at least ", NumberText(*min));
  } else if (max) {
    absl::StrAppend(&text, " of at most ", NumberText(*max));
  }
  return text;
}

bool RuleParam::Accepts(double value) const {
  if (!std::isfinite(value) || type == "str") return false;
  if (type == "bool") return value == 0 || value == 1;
  if (type == "int" && value != std::floor(value)) return false;
  return (!min || value >= *min) && (!max || value <= *max);
}

std::optional<std::string> RulePart::When(const RuleParams& values) const {
  std::vector<std::string> texts;
  for (const Term& term : terms) {
    const bool counts =
        (term.only_if.empty() || values.count(term.only_if) > 0) &&
        (term.unless.empty() || values.count(term.unless) == 0);
    if (counts) texts.push_back(Fill(term.text, values));
  }
  if (texts.empty()) return std::nullopt;
  return absl::StrJoin(texts, " || ");
}

bool BuiltIn::needs_selection() const {
  return std::any_of(parts.begin(), parts.end(), [](const RulePart& part) {
    return !part.selection.has_value();
  });
}

const RuleParam* BuiltIn::Param(std::string_view name) const {
  for (const RuleParam& param : params) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

RuleParams BuiltIn::Defaults() const {
  RuleParams values;
  for (const RuleParam& param : params) {
    const bool absent =
        !param.number || (param.type == "bool" && *param.number == 0);
    if (!absent) values[param.name] = *param.number;
  }
  return values;
}

const std::vector<BuiltIn>& Catalogue() {
  static const auto* const all = new std::vector<BuiltIn>(ReadCatalogue());
  return *all;
}

const BuiltIn* Find(std::string_view id) {
  for (const BuiltIn& rule : Catalogue()) {
    if (rule.id == id) return &rule;
  }
  return nullptr;
}

}  // namespace graphdbg::rules
