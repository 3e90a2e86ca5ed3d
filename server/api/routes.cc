#include "server/api/routes.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/audit_trail.h"
#include "server/api/caller.h"
#include "server/api/event_stream.h"
#include "server/api/login_limit.h"
#include "server/api/response_memory.h"
#include "server/api/status_problem.h"
#include "server/base/error.h"
#include "server/http/problem.h"

namespace graphdbg::api {
namespace {

namespace asio = boost::asio;

const std::string kBase = "/api/v1";
const std::string kJob = kBase + "/jobs/{job}";
const std::string kWatchpoint = kJob + "/watchpoints/{watchpoint}";
const std::string kBundle = kJob + "/hits/{hit}/bundle";
const std::string kRecording = kJob + "/recording";
const std::string kTrainings = kBase + "/trainings";
const std::string kRun = kBase + "/runs/{run}";
const std::string kCheck = kRun + "/checks/{check}";
const std::string kRules = "/rules";
const std::string kRule = "/rules/{rule}";
const std::string kFindings = "/findings";

std::vector<Route> RoutesOfRuns() {
  constexpr Access kView = Access::kView;
  constexpr Access kControl = Access::kControl;
  return {
      {"GET", kBase + "/runs", kView, {}, ListRuns},
      {"GET", kRun, kView, {}, GetRun},
      {"GET",
       kRun + "/steps",
       kView,
       {"rank", "mode", "limit", "cursor"},
       ListSteps},
      {"GET", kRun + "/collections", kView, {}, ListCollections},
      {"GET",
       kRun + "/statistics",
       kView,
       {"step", "rank", "mode", "pass"},
       GetStepStatistics},
      {"GET",
       kRun + "/tensor/history",
       kView,
       {"name", "rank", "from", "to", "points"},
       GetRunHistory},
      {"GET",
       kRun + "/divergence",
       kView,
       {"with", "rank", "map", "rtol", "atol", "by", "calibrate"},
       GetDivergence},
      {"POST", kRun + "/checks", kControl, {}, StartCheck, kLargeBody},
      {"GET", kCheck, kView, {}, GetCheck},
      {"DELETE", kCheck, kControl, {}, EndCheck},
      {"GET", kRun + kRules, kView, {}, ListRunRules},
      {"POST", kRun + kRules, kControl, {}, AddRunRules, kLargeBody},
      {"DELETE", kRun + kRule, kControl, {}, DeleteRunRule},
      {"GET", kRun + kFindings, kView, {"rule", "limit"}, ListRunFindings},
  };
}

// A recorded run answers every GET of a job, as it was at a step.
void AddRoutesOfRuns(std::vector<Route>& routes) {
  std::vector<Route> added = RoutesOfRuns();
  const auto exists = [&](const std::string& path) {
    return std::any_of(added.begin(), added.end(), [&](const Route& route) {
      return route.method == "GET" && route.path == path;
    });
  };
  for (const Route& route : routes) {
    const bool reads = route.method == "GET" &&
                       std::holds_alternative<JobOperation>(route.operation);
    if (!reads || route.path == kRecording || route.path == kBundle) continue;
    Route copy = route;
    copy.path = kRun + route.path.substr(kJob.size());
    if (exists(copy.path)) continue;
    if (std::find(copy.query.begin(), copy.query.end(), "step") ==
        copy.query.end()) {
      copy.query.push_back("step");
    }
    added.push_back(std::move(copy));
  }
  routes.insert(routes.end(), added.begin(), added.end());
}

std::vector<Route> MakeRoutes() {
  constexpr Access kOpen = Access::kOpen;
  constexpr Access kView = Access::kView;
  constexpr Access kControl = Access::kControl;
  constexpr Access kAdmin = Access::kAdmin;
  return {
      {"GET", "/livez", kOpen, {}, Livez},
      {"GET", "/readyz", kOpen, {}, Readyz},
      {"GET", kBase + "/openapi.json", kOpen, {}, GetOpenApi},
      {"POST", kBase + "/login", kOpen, {}, Login},
      {"POST", kBase + "/login/codes", kView, {}, IssueLoginCode},
      {"GET", kBase + "/session", kView, {}, GetSession},
      {"DELETE", kBase + "/session", kView, {}, EndSession},
      {"GET", kBase + "/tokens", kAdmin, {}, ListTokens},
      {"POST", kBase + "/tokens", kAdmin, {}, CreateToken},
      {"DELETE", kBase + "/tokens/{token}", kAdmin, {}, RevokeToken},
      {"GET", kBase + "/audit", kAdmin, {"limit", "cursor"}, ReadAudit},
      {"GET", kBase + "/metrics", kView, {}, GetMetrics},
      {"GET", kBase + "/server", kView, {}, GetServer},
      {"GET", kBase + "/events", kView, {}, EventSocket()},
      {"GET", kBase + "/conditions", kView, {}, ListConditions},
      {"POST",
       kBase + "/conditions/check",
       kControl,
       {},
       CheckCondition,
       kLargeBody},
      {"GET",
       kBase + "/conditions/{condition}/advice",
       kView,
       {"op_type", "dtype", "expression"},
       GetAdvice},
      {"GET", kBase + kRules, kView, {}, ListRules},
      {"GET", kBase + kRule + "/advice", kView, {}, GetRuleAdvice},
      {"POST", kBase + "/graphs", kControl, {"name"}, OpenModel, kModelBody},
      {"GET", kTrainings, kAdmin, {}, ListTrainings},
      {"POST", kTrainings + "/{pid}/attach", kAdmin, {}, AttachToTraining},
      {"POST", kTrainings + "/{pid}/detach", kAdmin, {}, DetachFromTraining},
      {"GET", kBase + "/jobs", kView, {}, ListJobs},
      {"GET", kJob, kView, {}, GetJob},
      {"DELETE", kJob, kAdmin, {}, DeleteJob},
      {"GET", kJob + "/ranks", kView, {"state", "limit", "cursor"}, ListRanks},
      {"POST", kJob + "/control", kControl, {}, ControlJob, kLargeBody},
      {"POST", kJob + "/lease", kControl, {}, TakeLease},
      {"DELETE", kJob + "/lease", kControl, {}, ReleaseLease},
      {"GET", kJob + "/graphs", kView, {}, ListGraphs},
      {"GET", kJob + "/graph/index", kView, {"graph"}, GetGraphIndex},
      {"GET",
       kJob + "/graph/scope",
       kView,
       {"name", "graph", "aggregate"},
       GetScope},
      {"GET", kJob + "/graph/node", kView, {"name"}, GetNode},
      {"GET",
       kJob + "/graph/search",
       kView,
       {"q", "in", "category", "kind", "op_type", "source", "watchpoint",
        "limit", "cursor"},
       SearchNodes},
      {"GET", kJob + "/graph/source", kView, {"file"}, GetSource},
      {"GET", kJob + "/graph/export", kView, {"format", "graph"}, ExportGraph},
      {"GET",
       kJob + "/graph/neighbours",
       kView,
       {"name", "slot", "depth", "rank"},
       GetNeighbours},
      {"GET", kJob + "/watchpoints", kView, {}, ListWatchpoints},
      {"POST", kJob + "/watchpoints", kControl, {}, AddWatchpoint, kLargeBody},
      {"POST",
       kJob + "/watchpoints/preview",
       kControl,
       {},
       PreviewWatchpoint,
       kLargeBody},
      {"POST", kJob + "/watchpoints/recommended", kControl, {}, AddRecommended},
      {"GET", kWatchpoint, kView, {}, GetWatchpoint},
      {"PATCH", kWatchpoint, kControl, {}, ChangeWatchpoint, kLargeBody},
      {"DELETE", kWatchpoint, kControl, {}, DeleteWatchpoint},
      {"GET",
       kJob + "/hits",
       kView,
       {"watchpoint", "rank", "step", "node", "incident", "limit", "cursor"},
       ListHits},
      {"GET", kBundle, kControl, {}, DownloadBundle},
      {"GET", kJob + "/hits/{hit}/diagnosis", kView, {}, GetDiagnosis},
      {"GET", kJob + "/incidents", kView, {"limit"}, ListIncidents},
      {"GET", kJob + "/tensors", kView, {"node", "rank"}, ListTensors},
      {"GET",
       kJob + "/tensor",
       kView,
       {"name", "rank", "step", "slice", "statistics"},
       GetTensor},
      {"POST", kJob + "/tensor/catch", kControl, {}, CatchTensors, kLargeBody},
      {"POST", kJob + "/whatif", kControl, {}, RunExperiments, kLargeBody},
      {"POST", kJob + "/change", kAdmin, {}, ChangeJob, kLargeBody},
      {"GET", kRecording, kView, {}, GetRecording},
      {"PUT", kRecording, kControl, {}, SetRecording, kLargeBody},
      {"GET", kJob + kRules, kView, {}, ListJobRules},
      {"POST", kJob + kRules, kControl, {}, AddJobRules, kLargeBody},
      {"DELETE", kJob + kRule, kControl, {}, DeleteJobRule},
      {"GET", kJob + kFindings, kView, {"rule", "limit"}, ListJobFindings},
      {"POST", kJob + kFindings, kControl, {}, ReportJobFindings, kLargeBody},
      {"GET", kJob + "/statistics", kView, {"rank"}, GetJobStatistics},
      {"GET",
       kJob + "/tensor/statistics",
       kView,
       {"name", "rank", "step"},
       GetTensorStatistics},
      {"GET",
       kJob + "/tensor/histogram",
       kView,
       {"name", "rank", "step", "slice", "bins"},
       GetTensorHistogram},
      {"GET", kJob + "/overview", kView, {"rank", "after"}, GetOverview},
      {"GET",
       kJob + "/overview/values",
       kView,
       {"rank", "after", "measure"},
       GetOverviewValues},
      {"GET",
       kJob + "/overview/module",
       kView,
       {"rank", "module"},
       GetOverviewModule},
      {"GET", kJob + "/overview/ops", kView, {"rank", "step"}, GetOverviewOps},
      {"GET",
       kJob + "/tensor/history",
       kView,
       {"name", "rank"},
       GetTensorHistory},
      {"GET",
       kJob + "/tensor/download",
       kView,
       {"name", "rank", "step", "format"},
       DownloadTensor},
      {"GET",
       kJob + "/tensor/compare",
       kView,
       {"name", "rank", "step", "slice", "with", "rtol", "atol", "bins",
        "list"},
       CompareTensors},
      {"GET",
       kJob + "/tensor/map",
       kView,
       {"name", "rank", "step", "slice", "with", "of", "rows", "columns"},
       GetTensorMap},
  };
}

jobs::Task<RunPtr> FindRun(const Services& services,
                           const http::Request& request) {
  const std::string& id = request.path_params.at("run");
  if (services.runs == nullptr) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_run",
                    "the server was started without recorded runs; there is "
                    "no run '" +
                        id + "'");
  }
  co_return co_await services.runs->Find(id);
}

// The step that a request about a run names. "current" and "previous" refer to
// the last one.
absl::StatusOr<std::optional<uint64_t>> StepOf(const http::Request& request) {
  Arguments arguments(request);
  const std::string step = arguments.Text("step");
  if (step.empty() || step == "current" || step == "previous") {
    return std::nullopt;
  }
  const auto number = arguments.Integer("step", 0, UINT64_MAX);
  RETURN_IF_ERROR(arguments.status());
  return number;
}

absl::StatusOr<JobPtr> FindJob(const Services& services,
                               const http::Request& request) {
  const std::string& id = request.path_params.at("job");
  JobPtr job = services.directory.Find(id);
  if (!job) {
    return Error(absl::StatusCode::kNotFound, "unknown_job",
                 "there is no job '" + id + "'");
  }
  return job;
}

auth::Role RoleFor(Access access) {
  switch (access) {
    case Access::kOpen:
    case Access::kView:
      return auth::Role::kView;
    case Access::kControl:
      return auth::Role::kControl;
    case Access::kAdmin:
      return auth::Role::kAdmin;
  }
  return auth::Role::kAdmin;
}

// Identifies the caller and checks the role.
absl::Status Authorize(const Services& services, const Route& route,
                       http::Request& request) {
  const std::string_view authorization = request.headers.Get("Authorization");
  if (route.is_event_socket()) {
    // A page cannot set the header: it shows its token in the first message.
    // The browser reported the page's origin, which has been checked.
    const bool from_page = request.headers.Has("Origin");
    if (authorization.empty() && services.auth.required() && !from_page) {
      return Error(absl::StatusCode::kPermissionDenied, "origin_required",
                   "a WebSocket requires the header 'Origin', which browsers "
                   "send, or 'Authorization: Bearer TOKEN'");
    }
    if (authorization.empty()) return absl::OkStatus();
  }
  if (route.access == Access::kOpen) return absl::OkStatus();
  ASSIGN_OR_RETURN(auth::Principal caller,
                   services.auth.CheckAuthorization(authorization));
  const absl::Status allowed = auth::RequireRole(caller, RoleFor(route.access));
  SetCaller(request, std::move(caller));
  return allowed;
}

// Runs before the request's body is read.
std::optional<http::Response> Check(const Services& services,
                                    const Route& route,
                                    http::Request& request) {
  absl::Status status = Authorize(services, route, request);
  if (!status.ok()) RecordOutcome(services, route, request, status);
  if (status.ok()) status = CheckQueryNames(request, route.query);
  if (status.ok()) return std::nullopt;
  return ProblemOf(status, request.method);
}

Answer Execute(const Services& services, const Route& route,
               const http::Request& request) {
  if (const auto* operation = std::get_if<Operation>(&route.operation)) {
    co_return co_await (*operation)(services, request);
  }
  if (request.path_params.contains("run")) {
    CO_ASSIGN_OR_RETURN(const RunPtr run, co_await FindRun(services, request));
    if (const auto* of_run = std::get_if<RunOperation>(&route.operation)) {
      co_return co_await (*of_run)(services, request, run);
    }
    CO_ASSIGN_OR_RETURN(const std::optional<uint64_t> step, StepOf(request));
    co_return co_await std::get<JobOperation>(route.operation)(
        services, request, run->At(step));
  }
  CO_ASSIGN_OR_RETURN(const JobPtr job, FindJob(services, request));
  co_return co_await std::get<JobOperation>(route.operation)(services, request,
                                                             job);
}

asio::awaitable<http::Response> CountFailure(std::shared_ptr<LoginLimit> limit,
                                             const http::Handler& handler,
                                             http::Request request) {
  const std::string address(http::AddressOf(request.peer));
  http::Response response = co_await handler(std::move(request));
  if (response.status == 401) {
    limit->AddFailure(address, LoginLimit::Clock::now());
  }
  co_return response;
}

// Adds a limit on failures to the login's route.
void AddLogin(const Route& route, http::Handler handler,
              http::RouteOptions options, http::Router& router) {
  using Clock = LoginLimit::Clock;
  auto limit = std::make_shared<LoginLimit>();
  options.check = [limit, check = std::move(options.check)](
                      http::Request& request) -> std::optional<http::Response> {
    if (!limit->MustWait(http::AddressOf(request.peer), Clock::now())) {
      return check(request);
    }
    http::Response response = http::ProblemResponse(
        429, "too_many_logins",
        "too many failed logins from this address; wait a few seconds");
    response.headers.Set("Retry-After", "2");
    return response;
  };
  auto counted = [limit, handler = std::move(handler)](http::Request request) {
    return CountFailure(limit, handler, std::move(request));
  };
  router.Add(std::string(route.method), route.path, std::move(counted),
             std::move(options));
}

asio::awaitable<http::Response> Dispatch(const Services& services,
                                         const Route& route,
                                         http::Request request) {
  absl::StatusOr<http::Response> response =
      co_await Execute(services, route, request);
  if (response.ok()) {
    const absl::Status reserved = ReserveBody(services, *response);
    if (!reserved.ok()) response = reserved;
  }
  RecordOutcome(services, route, request, response.status());
  if (!response.ok()) co_return ProblemFor(response.status(), request);
  co_return *std::move(response);
}

asio::awaitable<void> ServeEvents(
    const Services& services, http::Request request,
    std::shared_ptr<http::MessageChannel> channel) {
  auto stream = std::make_shared<EventStream>(
      services, co_await asio::this_coro::executor, std::move(channel));
  co_await stream->Run(std::move(request));
}

}  // namespace

const std::vector<Route>& Routes() {
  static const auto* const kRoutes = [] {
    auto* const routes = new std::vector<Route>(MakeRoutes());
    AddRoutesOfRuns(*routes);
    return routes;
  }();
  return *kRoutes;
}

void AddRoutes(const Services& services, http::Router& router) {
  for (const Route& route : Routes()) {
    const std::string method(route.method);
    http::RouteOptions options;
    options.max_body_bytes = route.body.max_bytes;
    options.check = [&services, &route](http::Request& request) {
      return Check(services, route, request);
    };
    if (route.is_event_socket()) {
      router.AddChannel(
          route.path,
          [&services](http::Request request,
                      std::shared_ptr<http::MessageChannel> channel) {
            return ServeEvents(services, std::move(request),
                               std::move(channel));
          },
          std::move(options));
      continue;
    }
    auto handler = [&services, &route](http::Request request) {
      return Dispatch(services, route, std::move(request));
    };
    if (route.path == kBase + "/login") {
      AddLogin(route, std::move(handler), std::move(options), router);
    } else if (route.body.in_pieces) {
      router.AddUpload(method, route.path, std::move(handler),
                       std::move(options));
    } else {
      router.Add(method, route.path, std::move(handler), std::move(options));
    }
  }
}

}  // namespace graphdbg::api
