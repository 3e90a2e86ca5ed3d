#include "absl/strings/str_cat.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_text.h"
#include "server/base/error.h"
#include "server/http/text.h"
#include "server/tensor/shape.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using model::TensorValue;

constexpr uint64_t kMaxJsonElements = 100'000;

std::string Dimensions(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) {
    text += (text.empty() ? "" : ",") + std::to_string(size);
  }
  return text;
}

bool Fits(uint64_t bytes, uint64_t count, uint64_t item_bytes) {
  return bytes % item_bytes == 0 && bytes / item_bytes == count;
}

absl::StatusOr<http::Response> BinaryResponse(TensorValue value) {
  auto count = tensor::ElementCount(value.slice_shape);
  const uint64_t item_bytes = ItemSize(value.type.dtype);
  if (!count ||
      (item_bytes != 0 && !Fits(value.data.size(), *count, item_bytes))) {
    return Error(absl::StatusCode::kInternal, "bad_tensor",
                 "the job sent bytes that do not fit the shape of the slice");
  }
  http::Response response;
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set("X-Graphdbg-Dtype", model::DTypeName(value.type));
  response.headers.Set("X-Graphdbg-Shape", Dimensions(value.slice_shape));
  response.headers.Set("X-Graphdbg-Step", std::to_string(value.step));
  response.headers.Set("X-Graphdbg-Overwritten",
                       value.overwritten ? "true" : "false");
  if (value.grad_scale != 0) {
    response.headers.Set("X-Graphdbg-Grad-Scale",
                         absl::StrCat(value.grad_scale));
  }
  response.body = std::move(value.data);
  return response;
}

Json GradScale(const TensorValue& value) {
  return value.grad_scale == 0 ? Json() : Json(value.grad_scale);
}

absl::StatusOr<http::Response> NestedResponse(const TensorValue& value,
                                              const std::string& slice) {
  auto count = tensor::ElementCount(value.slice_shape);
  if (count && *count > kMaxJsonElements) {
    return Error(absl::StatusCode::kResourceExhausted, "slice_too_large",
                 "the slice has " + std::to_string(*count) +
                     " elements; as JSON at most " +
                     std::to_string(kMaxJsonElements) +
                     " are sent: ask for less, or for "
                     "application/octet-stream");
  }
  auto data = NestedLists(value.type, value.slice_shape, value.data);
  if (!data.ok()) return data.status();
  Json json = EncodeHead(value);
  json["slice"] = slice;
  json["slice_shape"] = value.slice_shape;
  json["overwritten"] = value.overwritten;
  json["grad_scale"] = GradScale(value);
  if (value.statistics) json["statistics"] = Encode(*value.statistics);
  http::Response response = JsonResponse(json);
  // As text: a tree of values for each element would cost many times more.
  response.body.pop_back();
  response.body += ",\"data\":" + *data + "}";
  return response;
}

}  // namespace

Answer ListTensors(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  std::string node = arguments.RequiredText("node");
  uint32_t rank = arguments.Number32("rank").value_or(0);
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<std::vector<model::TensorSummary>> tensors =
      co_await (*job)->Tensors(node, rank);
  if (!tensors.ok()) co_return tensors.status();
  co_return JsonResponse({{"node", node}, {"tensors", EncodeAll(*tensors)}});
}

Answer GetTensor(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.slice = arguments.Text("slice");
  query.want_statistics = arguments.Flag("statistics");
  if (!arguments.status().ok()) co_return arguments.status();
  const bool binary = http::ListsToken(request.headers.Get("Accept"),
                                       "application/octet-stream");
  if (binary) {
    query.max_bytes = kMaxTensorBytes;
  } else {
    query.max_elements = kMaxJsonElements;
  }
  const std::string slice = query.slice;
  absl::StatusOr<TensorValue> value = co_await (*job)->Tensor(std::move(query));
  if (!value.ok()) co_return value.status();
  co_return binary ? BinaryResponse(*std::move(value))
                   : NestedResponse(*value, slice);
}

Answer GetTensorHistory(const Services& services,
                        const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  // No step: all of them.
  const TensorQuery query = ReadTensorQuery(arguments);
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::TensorHistory> history =
      co_await (*job)->History(query.node, query.slot, query.rank);
  if (!history.ok()) co_return history.status();
  Json json = Encode(*history);
  json["rank"] = query.rank;
  co_return JsonResponse(json);
}

Answer CatchTensors(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<CatchRequest> wanted = DecodeCatch(request.body);
  if (!wanted.ok()) co_return wanted.status();
  absl::Status caught =
      co_await (*job)->CatchTensors(wanted->node, wanted->rank);
  if (!caught.ok()) co_return caught;
  co_return JsonResponse({{"node", wanted->node}, {"rank", wanted->rank}}, 202);
}

Answer GetTensorStatistics(const Services& services,
                           const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.want_data = false;
  query.want_statistics = true;
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<TensorValue> value = co_await (*job)->Tensor(std::move(query));
  if (!value.ok()) co_return value.status();
  if (!value->statistics) {
    co_return Error(absl::StatusCode::kInternal, "bad_tensor",
                    "the job sent no statistics");
  }
  Json json = EncodeHead(*value);
  json["overwritten"] = value->overwritten;
  json["grad_scale"] = GradScale(*value);
  json["statistics"] = Encode(*value->statistics);
  co_return JsonResponse(json);
}

}  // namespace graphdbg::api
