// Recorded runs. What a run answers like a job has the handlers of jobs.
#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/encode_run.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxStepsPage = 10'000;
constexpr uint64_t kMaxPoints = 100'000;

}  // namespace

Answer ListRuns(const Services& services, const http::Request&) {
  Json list = Json::array();
  if (services.runs != nullptr) {
    CO_ASSIGN_OR_RETURN(const auto runs, co_await services.runs->Runs());
    for (const RunPtr& run : runs) {
      CO_ASSIGN_OR_RETURN(const model::Run info, co_await run->Describe(false));
      list.push_back(Encode(info));
    }
  }
  co_return JsonResponse({{"runs", std::move(list)}});
}

Answer GetRun(const Services&, const http::Request&, const RunPtr& run) {
  CO_ASSIGN_OR_RETURN(const model::Run info, co_await run->Describe(true));
  co_return JsonResponse(Encode(info));
}

Answer ListSteps(const Services&, const http::Request& request,
                 const RunPtr& run) {
  Arguments arguments(request);
  model::StepQuery query;
  query.rank = arguments.Integer32("rank");
  query.mode = arguments.Choice<model::RunMode>("mode");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxStepsPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::StepPage page,
                      co_await run->Steps(std::move(query)));
  co_return JsonResponse(Encode(page));
}

Answer ListCollections(const Services&, const http::Request&,
                       const RunPtr& run) {
  CO_ASSIGN_OR_RETURN(const auto collections, co_await run->Collections());
  Json list = Json::array();
  for (const model::Collection& each : collections) {
    list.push_back(Encode(each));
  }
  co_return JsonResponse({{"collections", std::move(list)}});
}

Answer GetStepStatistics(const Services&, const http::Request& request,
                         const RunPtr& run) {
  Arguments arguments(request);
  model::StatisticsQuery query;
  query.step = arguments.Integer("step", 0, UINT64_MAX);
  query.rank = arguments.Integer32("rank").value_or(0);
  query.mode = arguments.Choice<model::RunMode>("mode");
  query.pass = arguments.Integer32("pass");
  CO_RETURN_IF_ERROR(arguments.status());
  http::Response response;
  CO_ASSIGN_OR_RETURN(response.body,
                      co_await run->Statistics(std::move(query)));
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  co_return response;
}

Answer GetRunHistory(const Services&, const http::Request& request,
                     const RunPtr& run) {
  Arguments arguments(request);
  const model::TensorQuery tensor = ReadTensorQuery(arguments);
  model::RunHistoryQuery query;
  query.node = tensor.node;
  query.slot = tensor.slot;
  query.rank = tensor.rank;
  query.from = arguments.Integer("from", 0, UINT64_MAX).value_or(query.from);
  query.to = arguments.Integer("to", 0, UINT64_MAX).value_or(query.to);
  query.points = static_cast<uint32_t>(
      arguments.Integer("points", 1, kMaxPoints).value_or(query.points));
  CO_RETURN_IF_ERROR(arguments.status());
  const uint32_t rank = query.rank;
  CO_ASSIGN_OR_RETURN(const model::RunHistory history,
                      co_await run->History(std::move(query)));
  Json json = Encode(history);
  json["rank"] = rank;
  co_return JsonResponse(json);
}

Answer StartCheck(const Services&, const http::Request& request,
                  const RunPtr& run) {
  CO_ASSIGN_OR_RETURN(model::CheckSpec spec, DecodeCheck(request.body));
  Note(request, spec.rules.empty() ? spec.watchpoint.condition.id : "rules");
  CO_ASSIGN_OR_RETURN(const std::string id,
                      co_await run->StartCheck(std::move(spec)));
  http::Response response = JsonResponse({{"check_id", id}}, 202);
  response.headers.Set("Location", request.path + "/" + id);
  co_return response;
}

Answer GetCheck(const Services&, const http::Request& request,
                const RunPtr& run) {
  CO_ASSIGN_OR_RETURN(const model::CheckReport report,
                      co_await run->GetCheck(request.path_params.at("check")));
  co_return JsonResponse(Encode(report));
}

Answer EndCheck(const Services&, const http::Request& request,
                const RunPtr& run) {
  CO_RETURN_IF_ERROR(co_await run->EndCheck(request.path_params.at("check")));
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace graphdbg::api
