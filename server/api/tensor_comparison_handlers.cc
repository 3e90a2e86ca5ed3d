// Histograms and comparisons of tensors of any size.
#include <algorithm>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/compared_tensors.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_pieces.h"
#include "server/tensor/comparison.h"
#include "server/tensor/histogram.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using tensor::ComparedPair;
using tensor::Numbers;

using Shape = std::vector<int64_t>;

constexpr uint64_t kDefaultBins = 64;
constexpr uint64_t kMaxBins = 10'000;
constexpr uint64_t kDefaultListed = 16;
constexpr uint64_t kMaxListed = 1'000;
// The defaults of numpy.allclose.
constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;

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

Json Encode(const ComparedPair& pair, const Shape& shape) {
  return {{"index", IndexOf(pair.element, shape)},
          {"left", Number(pair.left)},
          {"right", Number(pair.right)}};
}

Json Encode(const tensor::Comparison& c, const Shape& shape) {
  const auto place = [&](bool exists, const ComparedPair& pair) {
    return exists ? Encode(pair, shape) : Json();
  };
  const bool differs = c.ulps && c.ulps->max > 0;
  return {{"count", c.count},
          {"all_close", c.not_close_count == 0},
          {"equal_count", c.equal_count},
          {"not_close_count", c.not_close_count},
          {"non_finite_count", c.non_finite_count},
          {"left_nan_count", c.left_nan_count},
          {"right_nan_count", c.right_nan_count},
          {"both_nan_count", c.both_nan_count},
          {"max_abs_difference", OrNull(c.max_abs_difference)},
          {"max_abs_at", place(c.max_abs_difference.has_value(), c.max_abs_at)},
          {"mean_abs_difference", OrNull(c.mean_abs_difference)},
          {"mean_difference", OrNull(c.mean_difference)},
          {"rms_difference", OrNull(c.rms_difference)},
          {"max_relative_difference", OrNull(c.max_relative_difference)},
          {"max_relative_at",
           place(c.max_relative_difference.has_value(), c.max_relative_at)},
          {"cosine", OrNull(c.cosine)},
          {"max_ulps", c.ulps ? Json(c.ulps->max) : Json()},
          {"max_ulps_at", differs ? Encode(c.ulps->max_at, shape) : Json()},
          {"ulp_counts", c.ulps ? Json(c.ulps->counts) : Json()},
          {"first_not_close", c.first_not_close.empty()
                                  ? Json()
                                  : Encode(c.first_not_close[0], shape)}};
}

Json EncodeFirst(const std::vector<ComparedPair>& pairs, uint64_t count,
                 const Shape& shape) {
  Json list = Json::array();
  for (const ComparedPair& pair : pairs) {
    if (list.size() < count) list.push_back(Encode(pair, shape));
  }
  return list;
}

// The ranges of two sides together and of their difference.
struct Ranges {
  tensor::FiniteRange sides;
  tensor::FiniteRange difference;
};

// Counts both sides over their common range, and the difference of the pairs
// that are finite.
jobs::Task<Json> CountPairs(TensorPieces& left, TensorPieces& right,
                            const Ranges& ranges, uint64_t bins) {
  tensor::HistogramCounter lefts(ranges.sides, bins);
  tensor::HistogramCounter rights(ranges.sides, bins);
  tensor::HistogramCounter differences(ranges.difference, bins);
  CO_RETURN_IF_ERROR(co_await ForEachPair(
      left, right, [&](const Numbers& a, const Numbers& b) {
        lefts.Add(a);
        rights.Add(b);
        ForEachFinitePair(a, b,
                          [&](double x, double y) { differences.Add(x - y); });
        return absl::OkStatus();
      }));
  co_return Json({{"left", Encode(lefts.histogram())},
                  {"right", Encode(rights.histogram())},
                  {"difference", Encode(differences.histogram())}});
}

Json EncodeSide(const model::TensorValue& value) {
  Json json = EncodeHead(value);
  json["overwritten"] = value.overwritten;
  return json;
}

}  // namespace

Answer GetTensorHistogram(const Services&, const http::Request& request,
                          const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  query.slice = arguments.Text("slice");
  const uint64_t bins =
      arguments.Integer("bins", 1, kMaxBins).value_or(kDefaultBins);
  CO_RETURN_IF_ERROR(arguments.status());
  const std::string slice = query.slice;
  CO_ASSIGN_OR_RETURN(
      TensorPieces tensor,
      co_await TensorPieces::Open(job, std::move(query), request.has_gone));
  tensor::FiniteRange range;
  CO_RETURN_IF_ERROR(co_await ForEachPiece(tensor, [&](const Numbers& piece) {
    range.Add(piece);
    return absl::OkStatus();
  }));
  tensor::HistogramCounter counter(range, bins);
  CO_RETURN_IF_ERROR(co_await ForEachPiece(tensor, [&](const Numbers& piece) {
    counter.Add(piece);
    return absl::OkStatus();
  }));
  Json json = EncodeSide(tensor.head());
  json["slice"] = slice;
  json["slice_shape"] = tensor.slice_shape();
  json.update(Encode(counter.histogram()));
  co_return JsonResponse(json);
}

Answer CompareTensors(const Services& services, const http::Request& request,
                      const JobPtr& job) {
  Arguments arguments(request);
  const ComparedQuery query = ReadComparedQuery(arguments);
  const double rtol = arguments.Real("rtol", 0).value_or(kDefaultRtol);
  const double atol = arguments.Real("atol", 0).value_or(kDefaultAtol);
  const uint64_t bins = arguments.Integer("bins", 0, kMaxBins).value_or(0);
  const uint64_t listed =
      arguments.Integer("list", 0, kMaxListed).value_or(kDefaultListed);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(
      ComparedTensors sides,
      co_await OpenCompared(services, job, query, request.has_gone));
  auto& [left, right] = sides;
  tensor::Comparer comparer(rtol, atol, std::max<uint64_t>(1, listed));
  Ranges ranges;
  CO_RETURN_IF_ERROR(co_await ForEachPair(
      left, right, [&](const Numbers& a, const Numbers& b) {
        if (bins > 0) {
          ranges.sides.Add(a);
          ranges.sides.Add(b);
        }
        return comparer.Add(a, b);
      }));
  const tensor::Comparison comparison = comparer.Finish();
  ranges.difference = comparison.difference_range;
  Json json = {{"left", EncodeSide(left.head())},
               {"right", EncodeSide(right.head())},
               {"slice", query.left.slice},
               {"slice_shape", left.slice_shape()},
               {"rtol", rtol},
               {"atol", atol},
               {"histograms", nullptr}};
  json.update(Encode(comparison, left.slice_shape()));
  json["not_close"] =
      EncodeFirst(comparison.first_not_close, listed, left.slice_shape());
  if (bins > 0) {
    CO_ASSIGN_OR_RETURN(json["histograms"],
                        co_await CountPairs(left, right, ranges, bins));
  }
  co_return JsonResponse(json);
}

}  // namespace graphdbg::api
