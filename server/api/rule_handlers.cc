// Rules over recorded runs and the jobs that record them, and their findings.
#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/decode_reports.h"
#include "server/api/decode_rules.h"
#include "server/api/encode_run.h"
#include "server/api/handlers.h"
#include "server/api/json_reading.h"
#include "server/base/error.h"
#include "server/base/string_views.h"

namespace graphdbg::api {
namespace {

using Rules = std::vector<rules::ListedRule>;

constexpr uint64_t kMaxFindings = 10'000;

bool IsSameDirectory(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

// The run that the job records, or has recorded. FAILED_PRECONDITION
// "not_recorded" if there is none, or "run_not_here" if it is not in a
// directory that the server reads.
jobs::Task<RunPtr> RunOf(const Services& services, const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const model::JobRecording recording,
                      co_await job->GetRecording());
  const auto recorded =
      std::find_if(recording.ranks.begin(), recording.ranks.end(),
                   [](const auto& rank) { return !rank.directory.empty(); });
  if (recorded == recording.ranks.end()) {
    const std::string run =
        services.rules == nullptr ? "" : services.rules->RunOf(job->id());
    if (!run.empty()) co_return co_await services.runs->Find(run);
    co_return Error(
        absl::StatusCode::kFailedPrecondition, "not_recorded",
        absl::StrCat("rules look at what is recorded, and job '", job->id(),
                     "' records nothing: graphdbg record ", job->id()));
  }
  if (services.runs != nullptr) {
    CO_ASSIGN_OR_RETURN(const auto runs, co_await services.runs->Runs());
    for (const RunPtr& run : runs) {
      if (IsSameDirectory(run->path(), recorded->directory)) co_return run;
    }
  }
  co_return Error(
      absl::StatusCode::kFailedPrecondition, "run_not_here",
      absl::StrCat("job '", job->id(), "' records to ", recorded->host, ":",
                   recorded->directory,
                   ", which this server does not read: start it there with "
                   "--runs DIR"));
}

absl::Status NoRuns() {
  return Error(absl::StatusCode::kFailedPrecondition, "run_not_here",
               "the server was started without --runs, and reads no run");
}

// The rules of a request, which its caller may add.
absl::StatusOr<AddedRules> ReadRules(const http::Request& request) {
  ASSIGN_OR_RETURN(AddedRules rules, DecodeLiveRules(request.body));
  std::vector<const model::LiveRule*> all;
  for (const model::LiveRule& each : rules.expressions) all.push_back(&each);
  for (const auto& each : rules.reported) all.push_back(&each.rule);
  Note(request, absl::StrJoin(all, ", ", [](std::string* text, auto* rule) {
         text->append(rule->spec.name);
       }));
  for (const model::LiveRule* each : all) {
    RETURN_IF_ERROR(CheckMayPerform(request, each->actions));
  }
  return rules;
}

Answer Add(const Services& services, RunPtr run, JobPtr job, AddedRules rules) {
  if (services.rules == nullptr) co_return NoRuns();
  if (!rules.reported.empty()) {
    CO_RETURN_IF_ERROR(co_await services.rules->AddReported(
        run, std::move(job), std::move(rules.reported)));
    co_return JsonResponse(Encode(services.rules->List(run->id())), 201);
  }
  CO_ASSIGN_OR_RETURN(const Rules all, co_await services.rules->Add(
                                           std::move(run), std::move(job),
                                           std::move(rules.expressions)));
  co_return JsonResponse(Encode(all), 201);
}

http::Response List(const Services& services, const std::string& run) {
  if (services.rules == nullptr) return JsonResponse(Encode(Rules()));
  return JsonResponse(Encode(services.rules->List(run)));
}

Answer Delete(const Services& services, const http::Request& request,
              std::string run) {
  const std::string& rule = request.path_params.at("rule");
  Note(request, rule);
  if (services.rules == nullptr) co_return NoRuns();
  CO_RETURN_IF_ERROR(co_await services.rules->Remove(std::move(run), rule));
  http::Response response;
  response.status = 204;
  co_return response;
}

// The last findings, in order.
Answer Findings(const http::Request& request, RunPtr run) {
  Arguments arguments(request);
  const std::string rule = arguments.Text("rule");
  const uint64_t limit =
      arguments.Integer("limit", 1, kMaxFindings).value_or(kMaxFindings);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const std::string text, co_await run->Findings());
  Json list = Json::array();
  uint64_t count = 0;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // The file may be damaged.
    const auto finding = ParseJson(ToStd(*line), "a finding");
    if (!finding.ok() || !finding->is_object()) continue;
    if (!rule.empty() && finding->value("rule", ReceivedJson()) != rule) {
      continue;
    }
    if (++count <= limit) list.push_back(Json(*finding));
  }
  std::reverse(list.begin(), list.end());
  co_return JsonResponse({{"findings", std::move(list)}, {"total", count}});
}

http::Response NoFindings() {
  return JsonResponse({{"findings", Json::array()}, {"total", 0}});
}

}  // namespace

Answer ListJobRules(const Services& services, const http::Request&,
                    const JobPtr& job) {
  const auto run = co_await RunOf(services, job);
  // A job that records nothing has no rules.
  if (!run.ok()) co_return JsonResponse(Encode(Rules()));
  co_return List(services, (*run)->id());
}

Answer AddJobRules(const Services& services, const http::Request& request,
                   const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(auto rules, ReadRules(request));
  CO_ASSIGN_OR_RETURN(RunPtr run, co_await RunOf(services, job));
  co_return co_await Add(services, std::move(run), job, std::move(rules));
}

Answer DeleteJobRule(const Services& services, const http::Request& request,
                     const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const RunPtr run, co_await RunOf(services, job));
  co_return co_await Delete(services, request, run->id());
}

Answer ListJobFindings(const Services& services, const http::Request& request,
                       const JobPtr& job) {
  const auto run = co_await RunOf(services, job);
  if (!run.ok()) co_return NoFindings();
  co_return co_await Findings(request, *run);
}

Answer ReportJobFindings(const Services& services, const http::Request& request,
                         const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const RuleReports reports, DecodeReports(request.body));
  CO_ASSIGN_OR_RETURN(const RunPtr run, co_await RunOf(services, job));
  if (services.rules == nullptr) co_return NoRuns();
  for (const model::Finding& finding : reports.findings) {
    const auto rule = services.rules->RuleOf(run->id(), finding.rule);
    if (rule) CO_RETURN_IF_ERROR(CheckMayPerform(request, rule->actions));
  }
  CO_RETURN_IF_ERROR(
      services.rules->Report(run->id(), reports.findings, reports.progress));
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ListRunRules(const Services& services, const http::Request&,
                    const RunPtr& run) {
  co_return List(services, run->id());
}

Answer AddRunRules(const Services& services, const http::Request& request,
                   const RunPtr& run) {
  CO_ASSIGN_OR_RETURN(auto rules, ReadRules(request));
  if (!rules.reported.empty()) {
    co_return Error(absl::StatusCode::kInvalidArgument, "invalid_argument",
                    "rules: a recorded run accepts only expressions");
  }
  co_return co_await Add(services, run, nullptr, std::move(rules));
}

Answer DeleteRunRule(const Services& services, const http::Request& request,
                     const RunPtr& run) {
  co_return co_await Delete(services, request, run->id());
}

Answer ListRunFindings(const Services&, const http::Request& request,
                       const RunPtr& run) {
  co_return co_await Findings(request, run);
}

}  // namespace graphdbg::api
