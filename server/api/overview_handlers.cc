// The overview of a job: its modules over the steps.
#include <cmath>
#include <cstring>
#include <string>

#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/handlers.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

model::OverviewQuery ReadQuery(Arguments& arguments) {
  model::OverviewQuery query;
  query.rank = arguments.Integer32("rank").value_or(0);
  query.after = arguments.Integer("after", 0, UINT64_MAX);
  return query;
}

// JSON has neither NaN nor infinities.
Json Number(float value) { return std::isfinite(value) ? Json(value) : Json(); }

Json Numbers(const auto& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(Number(value));
  return list;
}

Json Encode(const model::OverviewStep& step) {
  return {{"step", step.step},
          {"mode", step.mode},
          {"time", step.unix_nano},
          {"duration_ms", static_cast<double>(step.duration_ns) / 1e6},
          {"measuring_ms", static_cast<double>(step.measuring_ns) / 1e6},
          {"has_loss", step.loss.has_value()},
          {"loss", step.loss ? Number(*step.loss) : Json()}};
}

Json Encode(const model::OverviewPoint& point) {
  Json json = {{"step", point.step}};
  for (const auto& [measure, name] :
       model::EnumNames<model::OverviewMeasure>()) {
    json[std::string(name)] =
        Number(point.measures[static_cast<size_t>(measure)]);
  }
  json["mean"] = Number(point.mean);
  json["deviation"] = Number(point.deviation);
  json["min"] = Number(point.min);
  json["max"] = Number(point.max);
  json["quantiles"] =
      std::isnan(point.quantiles[0]) ? Json() : Numbers(point.quantiles);
  return json;
}

double Microseconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

Json Encode(const model::OverviewOp& op) {
  return {{"node", op.node},
          {"op_type", op.op_type},
          {"thread", op.thread},
          {"start_us", Microseconds(op.start_ns)},
          {"duration_us", Microseconds(op.duration_ns)}};
}

}  // namespace

Answer GetOverview(const Services&, const http::Request& request,
                   const JobPtr& job) {
  Arguments arguments(request);
  const model::OverviewQuery query = ReadQuery(arguments);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::OverviewSummary summary,
                      co_await job->Overview(query));
  Json steps = Json::array();
  for (const auto& step : summary.steps) steps.push_back(Encode(step));
  co_return JsonResponse({{"rank", summary.rank},
                          {"ranks", summary.ranks},
                          {"modules", summary.modules},
                          {"steps", std::move(steps)}});
}

Answer GetOverviewValues(const Services&, const http::Request& request,
                         const JobPtr& job) {
  Arguments arguments(request);
  const model::OverviewQuery query = ReadQuery(arguments);
  const auto measure = arguments.Choice<model::OverviewMeasure>("measure");
  if (!measure) arguments.Fail("measure", "is missing");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::OverviewMatrix matrix,
                      co_await job->OverviewValues(query, *measure));
  http::Response response;
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set("X-Graphdbg-Dtype", "float32");
  response.headers.Set("X-Graphdbg-Shape", std::to_string(matrix.steps.size()) +
                                               "," +
                                               std::to_string(matrix.modules));
  response.headers.Set(
      "X-Graphdbg-Step",
      std::to_string(matrix.steps.empty() ? 0 : matrix.steps.back()));
  response.body.resize(matrix.values.size() * sizeof(float));
  if (!matrix.values.empty()) {
    std::memcpy(response.body.data(), matrix.values.data(),
                response.body.size());
  }
  co_return response;
}

Answer GetOverviewModule(const Services&, const http::Request& request,
                         const JobPtr& job) {
  Arguments arguments(request);
  const uint32_t rank = arguments.Integer32("rank").value_or(0);
  const std::string module = arguments.Text("module");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const std::vector<model::OverviewPoint> points,
                      co_await job->OverviewOf(rank, module));
  Json list = Json::array();
  for (const auto& point : points) list.push_back(Encode(point));
  co_return JsonResponse(
      {{"rank", rank}, {"module", module}, {"points", std::move(list)}});
}

Answer GetOverviewOps(const Services&, const http::Request& request,
                      const JobPtr& job) {
  Arguments arguments(request);
  const uint32_t rank = arguments.Integer32("rank").value_or(0);
  const auto step = arguments.Integer("step", 0, UINT64_MAX);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::OverviewOps found,
                      co_await job->OverviewOpsOf(rank, step));
  Json ops = Json::array();
  for (const auto& op : found.ops) ops.push_back(Encode(op));
  co_return JsonResponse({{"rank", rank},
                          {"step", found.step},
                          {"duration_us", Microseconds(found.duration_ns)},
                          {"steps", found.steps},
                          {"ops", std::move(ops)},
                          {"left_out", found.left_out}});
}

}  // namespace graphdbg::api
