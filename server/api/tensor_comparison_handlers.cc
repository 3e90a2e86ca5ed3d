// Histograms and comparisons of tensors.
#include <string_view>

#include "proto/wire/status_macros.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/run_reference.h"
#include "server/api/tensor_arguments.h"
#include "server/base/error.h"
#include "server/tensor/comparison.h"
#include "server/tensor/histogram.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using model::TensorValue;

constexpr uint64_t kDefaultBins = 64;
constexpr uint64_t kMaxBins = 10'000;
// The defaults of numpy.allclose.
constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;

constexpr std::string_view kOfRun = "run:";

// Reads the tensor to compare with: "previous", "step:N", "rank:R" or
// "tensor:NODE:SLOT". Otherwise it is the same as `first`.
TensorQuery ReadOther(Arguments& arguments, const std::string& with,
                      const TensorQuery& first) {
  TensorQuery other = first;
  const size_t colon = with.find(':');
  const std::string kind = with.substr(0, colon);
  const std::string rest =
      colon == std::string::npos ? "" : with.substr(colon + 1);
  const std::optional<uint64_t> number = ParseNumber(rest);
  if (with == "previous") {
    other.version = TensorQuery::Version::kPrevious;
  } else if (kind == "step" && number) {
    other.version = TensorQuery::Version::kStep;
    other.step = *number;
  } else if (kind == "rank" && number && *number <= UINT32_MAX) {
    other.rank = static_cast<uint32_t>(*number);
  } else if (kind != "tensor" || !ParseTensorName(rest, other)) {
    arguments.Fail("with", "'" + with +
                               "' is not one of previous, step:N, rank:R, "
                               "tensor:NODE:SLOT, run:RUN[:RANK][@STEP]");
  }
  return other;
}

// The index of an element, given its position in row-major order.
std::vector<uint64_t> IndexOf(uint64_t element,
                              const std::vector<int64_t>& shape) {
  std::vector<uint64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[d]);
    index[d] = element % size;
    element /= size;
  }
  return index;
}

Json OrNull(const std::optional<double>& value) {
  return value ? Number(*value) : Json();
}

Json NumberList(const std::vector<double>& values) {
  Json list = Json::array();
  for (double value : values) list.push_back(Number(value));
  return list;
}

Json Encode(const tensor::Histogram& histogram) {
  return {{"edges", NumberList(histogram.edges)},
          {"counts", histogram.counts},
          {"nan_count", histogram.nan_count},
          {"pos_inf_count", histogram.pos_inf_count},
          {"neg_inf_count", histogram.neg_inf_count}};
}

Json Encode(const tensor::Comparison& c, const std::vector<int64_t>& shape) {
  Json first;
  if (c.first_not_close) {
    first = {{"index", IndexOf(*c.first_not_close, shape)},
             {"left", Number(c.first_left)},
             {"right", Number(c.first_right)}};
  }
  return {{"count", c.count},
          {"all_close", c.not_close_count == 0},
          {"not_close_count", c.not_close_count},
          {"non_finite_count", c.non_finite_count},
          {"max_abs_difference", OrNull(c.max_abs_difference)},
          {"mean_abs_difference", OrNull(c.mean_abs_difference)},
          {"max_relative_difference", OrNull(c.max_relative_difference)},
          {"cosine", OrNull(c.cosine)},
          {"first_not_close", first}};
}

Json EncodeSide(const TensorValue& value) {
  Json json = EncodeHead(value);
  json["overwritten"] = value.overwritten;
  return json;
}

absl::StatusOr<tensor::Comparison> Compare(const TensorValue& left,
                                           const TensorValue& right,
                                           double rtol, double atol) {
  if (left.slice_shape != right.slice_shape) {
    return Error(absl::StatusCode::kInvalidArgument, "shapes_differ",
                 "the shapes differ: " + Json(left.slice_shape).dump() +
                     " and " + Json(right.slice_shape).dump());
  }
  ASSIGN_OR_RETURN(const auto lefts, tensor::Numbers::Of(left.type, left.data));
  ASSIGN_OR_RETURN(const auto rights,
                   tensor::Numbers::Of(right.type, right.data));
  return tensor::Compare(lefts, rights, rtol, atol);
}

}  // namespace

Answer GetTensorHistogram(const Services&, const http::Request& request,
                          const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.slice = arguments.Text("slice");
  query.max_bytes = kMaxTensorBytes;
  const uint64_t bins =
      arguments.Integer("bins", 1, kMaxBins).value_or(kDefaultBins);
  CO_RETURN_IF_ERROR(arguments.status());
  const std::string slice = query.slice;
  CO_ASSIGN_OR_RETURN(const TensorValue value,
                      co_await job->Tensor(std::move(query)));
  CO_ASSIGN_OR_RETURN(const auto numbers,
                      tensor::Numbers::Of(value.type, value.data));
  Json json = EncodeSide(value);
  json["slice"] = slice;
  json["slice_shape"] = value.slice_shape;
  json.update(Encode(tensor::MakeHistogram(numbers, bins)));
  co_return JsonResponse(json);
}

Answer CompareTensors(const Services& services, const http::Request& request,
                      const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.slice = arguments.Text("slice");
  query.max_bytes = kMaxTensorBytes;
  std::string with = arguments.RequiredText("with");
  const bool of_run = with.starts_with(kOfRun);
  TensorQuery other = of_run ? query : ReadOther(arguments, with, query);
  const double rtol = arguments.Real("rtol", 0).value_or(kDefaultRtol);
  const double atol = arguments.Real("atol", 0).value_or(kDefaultAtol);
  CO_RETURN_IF_ERROR(arguments.status());
  const std::string slice = query.slice;
  CO_ASSIGN_OR_RETURN(const TensorValue left,
                      co_await job->Tensor(std::move(query)));
  JobPtr other_job = job;
  if (of_run) {
    with.erase(0, kOfRun.size());
    CO_ASSIGN_OR_RETURN(
        const RunReference reference,
        co_await FindRunReference(services, std::move(with), "with"));
    other.rank = reference.rank.value_or(other.rank);
    other.version = TensorQuery::Version::kStep;
    other.step = reference.step.value_or(left.step);
    other_job = reference.run->At(other.step);
  }
  CO_ASSIGN_OR_RETURN(const TensorValue right,
                      co_await other_job->Tensor(std::move(other)));
  CO_ASSIGN_OR_RETURN(const auto comparison, Compare(left, right, rtol, atol));
  Json json = {{"left", EncodeSide(left)},
               {"right", EncodeSide(right)},
               {"slice", slice},
               {"slice_shape", left.slice_shape},
               {"rtol", rtol},
               {"atol", atol}};
  json.update(Encode(comparison, left.slice_shape));
  co_return JsonResponse(json);
}

}  // namespace graphdbg::api
