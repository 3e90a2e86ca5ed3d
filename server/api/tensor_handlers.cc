#include "proto/wire/status_macros.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_bytes.h"
#include "server/api/tensor_text.h"
#include "server/base/error.h"
#include "server/http/header_lists.h"
#include "server/tensor/shape.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using model::TensorValue;

constexpr uint64_t kMaxJsonElements = 100'000;

Json GradScale(const TensorValue& value) {
  return value.grad_scale == 0 ? Json() : Json(value.grad_scale);
}

absl::StatusOr<http::Response> NestedResponse(const TensorValue& value,
                                              const std::string& slice) {
  auto count = tensor::ElementCount(value.slice_shape);
  if (count && *count > kMaxJsonElements) {
    return Error(absl::StatusCode::kResourceExhausted, "slice_too_large",
                 "the slice has " + std::to_string(*count) +
                     " elements, but JSON responses are limited to " +
                     std::to_string(kMaxJsonElements) +
                     "; request a smaller slice, or request "
                     "application/octet-stream");
  }
  ASSIGN_OR_RETURN(const auto data,
                   NestedLists(value.type, value.slice_shape, value.data));
  Json json = EncodeHead(value);
  json["slice"] = slice;
  json["slice_shape"] = value.slice_shape;
  json["overwritten"] = value.overwritten;
  json["grad_scale"] = GradScale(value);
  if (value.statistics) json["statistics"] = Encode(*value.statistics);
  http::Response response = JsonResponse(json);
  // Appended as text: a JSON value for each element would need many times the
  // memory.
  response.body.pop_back();
  response.body += ",\"data\":" + data + "}";
  return response;
}

}  // namespace

Answer ListTensors(const Services&, const http::Request& request,
                   const JobPtr& job) {
  Arguments arguments(request);
  std::string node = arguments.RequiredText("node");
  uint32_t rank = arguments.Integer32("rank").value_or(0);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const std::vector<model::TensorSummary> tensors,
                      co_await job->Tensors(node, rank));
  co_return JsonResponse({{"node", node}, {"tensors", EncodeAll(tensors)}});
}

Answer GetTensor(const Services&, const http::Request& request,
                 const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.slice = arguments.Text("slice");
  query.want_statistics = arguments.Flag("statistics");
  CO_RETURN_IF_ERROR(arguments.status());
  const bool binary = http::ListsToken(request.headers.Get("Accept"),
                                       "application/octet-stream");
  if (binary) {
    query.max_bytes = kMaxTensorBytes;
  } else {
    query.max_elements = kMaxJsonElements;
  }
  if (const auto range = http::AskedRangeOf(request); binary && range) {
    co_return co_await SomeBytesOf(job, std::move(query), *range);
  }
  const std::string slice = query.slice;
  CO_ASSIGN_OR_RETURN(TensorValue value,
                      co_await job->Tensor(std::move(query)));
  co_return binary ? BytesOf(std::move(value)) : NestedResponse(value, slice);
}

Answer GetTensorHistory(const Services&, const http::Request& request,
                        const JobPtr& job) {
  Arguments arguments(request);
  // The route has no parameter "step": a history covers all steps.
  const TensorQuery query = ReadTensorQuery(arguments);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(
      const model::TensorHistory history,
      co_await job->History(query.node, query.slot, query.rank));
  Json json = Encode(history);
  json["rank"] = query.rank;
  co_return JsonResponse(json);
}

Answer CatchTensors(const Services&, const http::Request& request,
                    const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const CatchRequest wanted, DecodeCatch(request.body));
  CO_RETURN_IF_ERROR(co_await job->CatchTensors(wanted.node, wanted.rank, ""));
  co_return JsonResponse({{"node", wanted.node}, {"rank", wanted.rank}}, 202);
}

Answer GetJobStatistics(const Services&, const http::Request& request,
                        const JobPtr& job) {
  Arguments arguments(request);
  const uint32_t rank = arguments.Integer32("rank").value_or(0);
  CO_RETURN_IF_ERROR(arguments.status());
  http::Response response;
  CO_ASSIGN_OR_RETURN(response.body, co_await job->StepStatistics(rank));
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  co_return response;
}

Answer GetTensorStatistics(const Services&, const http::Request& request,
                           const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.want_data = false;
  query.want_statistics = true;
  query.want_quantiles = true;
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const TensorValue value,
                      co_await job->Tensor(std::move(query)));
  if (!value.statistics) {
    co_return Error(absl::StatusCode::kInternal, "bad_tensor",
                    "the job sent no statistics for this tensor");
  }
  Json json = EncodeHead(value);
  json["overwritten"] = value.overwritten;
  json["grad_scale"] = GradScale(value);
  json["statistics"] = Encode(*value.statistics);
  if (value.quantiles) {
    json["statistics"]["quantiles"] = Encode(*value.quantiles);
  }
  co_return JsonResponse(json);
}

}  // namespace graphdbg::api
