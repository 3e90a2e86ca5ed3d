#include <charconv>

#include "agent/conditions/advice.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

Json OrNull(const std::optional<double>& number) {
  return number ? Number(*number) : Json();
}

Json EncodeParam(const conditions::Parameter& param) {
  Json json = {{"name", param.name},
               {"title", param.title},
               {"type", param.type},
               {"default", OrNull(param.default_value)},
               {"suggested", OrNull(param.suggested)},
               {"unit", param.unit.empty() ? Json() : Json(param.unit)},
               {"required", param.required},
               {"tested", param.tested},
               {"advanced", param.advanced},
               {"min", OrNull(param.min)},
               {"max", OrNull(param.max)},
               {"above_min", param.above_min}};
  if (param.type == "bool" && param.default_value) {
    json["default"] = *param.default_value != 0;
  }
  if (!param.choices.empty()) {
    json["choices"] = param.choices;
    json["default"] = param.choices.front();
  }
  return json;
}

Json EncodeCondition(const conditions::Condition& condition) {
  Json params = Json::array();
  for (const conditions::Parameter& param : condition.params) {
    params.push_back(EncodeParam(param));
  }
  Json json = {{"id", condition.id},
               {"title", condition.title},
               {"help", condition.help},
               {"target", condition.target},
               {"params", std::move(params)},
               {"nan_policy", condition.nan_policy},
               {"backends", condition.backends},
               {"advice", Encode(conditions::AdviceFor(condition.id, "", ""))}};
  if (condition.wire_condition) {
    json["wire_condition"] = *condition.wire_condition;
  }
  return json;
}

// A malformed id is NOT_FOUND, like the id of a watchpoint that does not exist.
absl::StatusOr<uint32_t> WatchpointId(const http::Request& request) {
  const std::string& text = request.path_params.at("watchpoint");
  uint32_t id = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || stop != end) {
    return Error(absl::StatusCode::kNotFound, "unknown_watchpoint",
                 "there is no watchpoint '" + text + "'");
  }
  return id;
}

// For the audit log.
std::string DescribeWatchpoint(const model::Watchpoint& watchpoint) {
  return "watchpoint " + std::to_string(watchpoint.id) + ": " +
         watchpoint.spec.condition.id +
         (watchpoint.spec.enabled ? "" : ", disabled");
}

}  // namespace

Answer ListConditions(const Services&, const http::Request&) {
  Json list = Json::array();
  for (const conditions::Condition& condition : conditions::Catalogue()) {
    list.push_back(EncodeCondition(condition));
  }
  Json measures = Json::array();
  for (const conditions::Measure& measure : conditions::Measures()) {
    measures.push_back(
        {{"name", measure.name}, {"title", measure.description}});
  }
  co_return JsonResponse(
      {{"conditions", std::move(list)}, {"measures", std::move(measures)}});
}

Answer CheckCondition(const Services&, const http::Request& request) {
  CO_ASSIGN_OR_RETURN(const model::Condition condition,
                      DecodeCondition(request.body));
  CO_RETURN_IF_ERROR(conditions::Validate(
      condition.id, {condition.params, condition.text_params}));
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer GetAdvice(const Services&, const http::Request& request) {
  const std::string& id = request.path_params.at("condition");
  if (conditions::Find(id) == nullptr) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_condition",
                    "there is no condition '" + id + "'");
  }
  Arguments arguments(request);
  const std::string op_type = arguments.Text("op_type");
  const std::string dtype = arguments.Text("dtype");
  const std::string expression = arguments.Text("expression");
  CO_RETURN_IF_ERROR(arguments.status());
  co_return JsonResponse(
      Encode(expression.empty() ? conditions::AdviceFor(id, op_type, dtype)
                                : conditions::AdviceForExpression(expression)));
}

Answer ListWatchpoints(const Services&, const http::Request&,
                       const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const std::vector<model::Watchpoint> watchpoints,
                      co_await job->Watchpoints());
  co_return JsonResponse({{"watchpoints", EncodeAll(watchpoints)}});
}

Answer AddWatchpoint(const Services&, const http::Request& request,
                     const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(model::WatchpointSpec spec,
                      DecodeWatchpoint(request.body));
  CO_RETURN_IF_ERROR(CheckMayPerform(request, spec.actions));
  CO_ASSIGN_OR_RETURN(const model::Watchpoint made,
                      co_await job->AddWatchpoint(std::move(spec)));
  Note(request, DescribeWatchpoint(made));
  http::Response response = JsonResponse(Encode(made), 201);
  response.headers.Set("Location",
                       request.path + "/" + std::to_string(made.id));
  co_return response;
}

Answer PreviewWatchpoint(const Services&, const http::Request& request,
                         const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(model::WatchpointSpec spec,
                      DecodeWatchpoint(request.body));
  CO_ASSIGN_OR_RETURN(const model::SelectionPreview preview,
                      co_await job->PreviewWatchpoint(std::move(spec)));
  co_return JsonResponse(Encode(preview));
}

Answer AddRecommended(const Services&, const http::Request& request,
                      const JobPtr& job) {
  CO_RETURN_IF_ERROR(DecodeNothing(request.body));
  CO_ASSIGN_OR_RETURN(const model::RecommendedSet recommended,
                      co_await job->AddRecommended());
  Note(request, std::to_string(recommended.made.size()) + " watchpoints");
  co_return JsonResponse({{"watchpoints", EncodeAll(recommended.watchpoints)},
                          {"made", recommended.made}},
                         recommended.made.empty() ? 200 : 201);
}

Answer GetWatchpoint(const Services&, const http::Request& request,
                     const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const uint32_t id, WatchpointId(request));
  CO_ASSIGN_OR_RETURN(const model::Watchpoint found,
                      co_await job->GetWatchpoint(id));
  co_return JsonResponse(Encode(found));
}

Answer ChangeWatchpoint(const Services&, const http::Request& request,
                        const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const uint32_t id, WatchpointId(request));
  CO_ASSIGN_OR_RETURN(const model::Watchpoint old,
                      co_await job->GetWatchpoint(id));
  CO_ASSIGN_OR_RETURN(model::WatchpointChange change,
                      DecodeWatchpointChange(request.body, old.spec));
  CO_RETURN_IF_ERROR(
      CheckMayPerform(request, change.actions.value_or(old.spec.actions)));
  CO_ASSIGN_OR_RETURN(const model::Watchpoint changed,
                      co_await job->ChangeWatchpoint(id, std::move(change)));
  Note(request, DescribeWatchpoint(changed));
  co_return JsonResponse(Encode(changed));
}

Answer DeleteWatchpoint(const Services&, const http::Request& request,
                        const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const uint32_t id, WatchpointId(request));
  Note(request, "watchpoint " + std::to_string(id));
  CO_RETURN_IF_ERROR(co_await job->RemoveWatchpoint(id));
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace graphdbg::api
