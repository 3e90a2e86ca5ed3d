#include <charconv>

#include "agent/conditions/catalogue.h"
#include "server/api/arguments.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxHitsPage = 1'000;

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
               {"backends", condition.backends}};
  if (condition.wire_condition) {
    json["wire_condition"] = *condition.wire_condition;
  }
  return json;
}

// NOT_FOUND for a text that cannot be a watchpoint's id, as for one that is
// not there.
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

}  // namespace

Answer ListConditions(const Services&, const http::Request&) {
  Json list = Json::array();
  for (const conditions::Condition& condition : conditions::Catalogue()) {
    list.push_back(EncodeCondition(condition));
  }
  Json measures = Json::array();
  for (const conditions::Measure& measure : conditions::Measures()) {
    measures.push_back({{"name", measure.name}, {"title", measure.description}});
  }
  co_return JsonResponse(
      {{"conditions", std::move(list)}, {"measures", std::move(measures)}});
}

Answer CheckCondition(const Services&, const http::Request& request) {
  const absl::StatusOr<model::Condition> condition =
      DecodeCondition(request.body);
  if (!condition.ok()) co_return condition.status();
  const absl::Status valid = conditions::Validate(
      condition->id, {condition->params, condition->text_params});
  if (!valid.ok()) co_return valid;
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ListWatchpoints(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<std::vector<model::Watchpoint>> watchpoints =
      co_await (*job)->Watchpoints();
  if (!watchpoints.ok()) co_return watchpoints.status();
  co_return JsonResponse({{"watchpoints", EncodeAll(*watchpoints)}});
}

Answer AddWatchpoint(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<model::WatchpointSpec> spec = DecodeWatchpoint(request.body);
  if (!spec.ok()) co_return spec.status();
  absl::StatusOr<model::Watchpoint> made =
      co_await (*job)->AddWatchpoint(*std::move(spec));
  if (!made.ok()) co_return made.status();
  http::Response response = JsonResponse(Encode(*made), 201);
  response.headers.Set("Location",
                       request.path + "/" + std::to_string(made->id));
  co_return response;
}

Answer PreviewWatchpoint(const Services& services,
                         const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<model::WatchpointSpec> spec = DecodeWatchpoint(request.body);
  if (!spec.ok()) co_return spec.status();
  absl::StatusOr<uint64_t> count =
      co_await (*job)->CountNodes(*std::move(spec));
  if (!count.ok()) co_return count.status();
  co_return JsonResponse({{"node_count", *count}});
}

Answer AddRecommended(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::Status empty = DecodeNothing(request.body);
  if (!empty.ok()) co_return empty;
  absl::StatusOr<model::RecommendedSet> recommended =
      co_await (*job)->AddRecommended();
  if (!recommended.ok()) co_return recommended.status();
  co_return JsonResponse({{"watchpoints", EncodeAll(recommended->watchpoints)},
                          {"made", recommended->made}},
                         recommended->made.empty() ? 200 : 201);
}

Answer GetWatchpoint(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<uint32_t> id = WatchpointId(request);
  if (!id.ok()) co_return id.status();
  absl::StatusOr<model::Watchpoint> found = co_await (*job)->GetWatchpoint(*id);
  if (!found.ok()) co_return found.status();
  co_return JsonResponse(Encode(*found));
}

Answer ChangeWatchpoint(const Services& services,
                        const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<uint32_t> id = WatchpointId(request);
  if (!id.ok()) co_return id.status();
  absl::StatusOr<model::Watchpoint> old = co_await (*job)->GetWatchpoint(*id);
  if (!old.ok()) co_return old.status();
  absl::StatusOr<model::WatchpointChange> change =
      DecodeWatchpointChange(request.body, old->spec);
  if (!change.ok()) co_return change.status();
  absl::StatusOr<model::Watchpoint> changed =
      co_await (*job)->ChangeWatchpoint(*id, *std::move(change));
  if (!changed.ok()) co_return changed.status();
  co_return JsonResponse(Encode(*changed));
}

Answer DeleteWatchpoint(const Services& services,
                        const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<uint32_t> id = WatchpointId(request);
  if (!id.ok()) co_return id.status();
  absl::Status removed = co_await (*job)->RemoveWatchpoint(*id);
  if (!removed.ok()) co_return removed;
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ListHits(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  model::HitQuery query;
  query.watchpoint = arguments.Number32("watchpoint");
  query.rank = arguments.Number32("rank");
  query.step = arguments.Integer("step", 0, UINT64_MAX);
  query.node = arguments.Text("node");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxHitsPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::HitPage> result =
      co_await (*job)->Hits(std::move(query));
  if (!result.ok()) co_return result.status();
  co_return JsonResponse(Encode(*result));
}

}  // namespace graphdbg::api
