// The built-in rules.
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/base/error.h"
#include "server/rules/catalogue.h"

namespace graphdbg::api {
namespace {

Json OrNull(const std::optional<double>& number) {
  return number ? Number(*number) : Json();
}

Json Default(const rules::RuleParam& param) {
  if (param.text) return *param.text;
  if (!param.number) return nullptr;
  if (param.type == "bool") return *param.number != 0;
  return Number(*param.number);
}

Json EncodeParam(const rules::RuleParam& param) {
  return {{"name", param.name},
          {"type", param.type},
          {"default", Default(param)},
          {"required", param.required()},
          {"min", OrNull(param.min)},
          {"max", OrNull(param.max)},
          {"unit", param.unit.empty() ? Json() : Json(param.unit)},
          {"help", param.help}};
}

Json EncodeRule(const rules::BuiltIn& rule) {
  Json params = Json::array();
  for (const rules::RuleParam& param : rule.params) {
    params.push_back(EncodeParam(param));
  }
  // With the defaults. Parameters without one may be required.
  Json when = Json::array();
  for (const rules::RulePart& part : rule.parts) {
    if (auto text = part.When(rule.Defaults())) when.push_back(*text);
  }
  return {{"id", rule.id},
          {"title", rule.title},
          {"language", rule.in_python() ? "python" : "expression"},
          {"needs_selection", rule.needs_selection()},
          {"params", std::move(params)},
          {"when", std::move(when)},
          {"advice", Encode(*rule.advice)}};
}

}  // namespace

Answer ListRules(const Services&, const http::Request&) {
  Json list = Json::array();
  for (const rules::BuiltIn& rule : rules::Catalogue()) {
    list.push_back(EncodeRule(rule));
  }
  co_return JsonResponse({{"rules", std::move(list)}});
}

Answer GetRuleAdvice(const Services&, const http::Request& request) {
  const std::string& id = request.path_params.at("rule");
  const rules::BuiltIn* const rule = rules::Find(id);
  if (rule == nullptr) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_rule",
                    "there is no built-in rule '" + id + "'");
  }
  co_return JsonResponse(Encode(*rule->advice));
}

}  // namespace graphdbg::api
