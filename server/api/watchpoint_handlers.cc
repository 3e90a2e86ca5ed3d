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

Json EncodeCondition(const conditions::Condition& condition) {
  Json params = Json::array();
  for (const conditions::Parameter& param : condition.params) {
    params.push_back(
        {{"name", param.name},
         {"type", param.type},
         {"default",
          param.default_value ? Number(*param.default_value) : Json()},
         {"unit", param.unit.empty() ? Json() : Json(param.unit)},
         {"required", param.required}});
  }
  return {{"id", condition.id},
          {"title", condition.title},
          {"help", condition.help},
          {"target", condition.target},
          {"params", std::move(params)},
          {"nan_policy", condition.nan_policy},
          {"backends", Json::array({"cpu"})}};
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
  co_return JsonResponse({{"conditions", std::move(list)}});
}

Answer ListWatchpoints(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<std::vector<session::WatchpointInfo>> watchpoints =
      co_await (*job)->Watchpoints();
  if (!watchpoints.ok()) co_return watchpoints.status();
  co_return JsonResponse({{"watchpoints", EncodeAll(*watchpoints)}});
}

Answer AddWatchpoint(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<session::WatchpointSpec> spec = DecodeWatchpoint(request.body);
  if (!spec.ok()) co_return spec.status();
  absl::StatusOr<session::WatchpointInfo> made =
      co_await (*job)->AddWatchpoint(*std::move(spec));
  if (!made.ok()) co_return made.status();
  http::Response response = JsonResponse(Encode(*made), 201);
  response.headers.Set("Location",
                       request.path + "/" + std::to_string(made->id));
  co_return response;
}

Answer GetWatchpoint(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<uint32_t> id = WatchpointId(request);
  if (!id.ok()) co_return id.status();
  absl::StatusOr<session::WatchpointInfo> found =
      co_await (*job)->GetWatchpoint(*id);
  if (!found.ok()) co_return found.status();
  co_return JsonResponse(Encode(*found));
}

Answer ChangeWatchpoint(const Services& services,
                        const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<uint32_t> id = WatchpointId(request);
  if (!id.ok()) co_return id.status();
  absl::StatusOr<session::WatchpointInfo> old =
      co_await (*job)->GetWatchpoint(*id);
  if (!old.ok()) co_return old.status();
  absl::StatusOr<session::WatchpointChange> change =
      DecodeWatchpointChange(request.body, old->spec);
  if (!change.ok()) co_return change.status();
  absl::StatusOr<session::WatchpointInfo> changed =
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
  session::HitQuery query;
  query.watchpoint = arguments.Number32("watchpoint");
  query.rank = arguments.Number32("rank");
  query.step = arguments.Integer("step", 0, UINT64_MAX);
  query.node = arguments.Text("node");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxHitsPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<session::HitResult> result =
      co_await (*job)->Hits(std::move(query));
  if (!result.ok()) co_return result.status();
  co_return JsonResponse(Encode(*result));
}

}  // namespace graphdbg::api
