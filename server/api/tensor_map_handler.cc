// Pictures of tensors of any size, reduced to as many blocks as are shown.
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/compared_tensors.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_pieces.h"
#include "server/tensor/block_map.h"

namespace graphdbg::api {
namespace {

using tensor::BlockMap;
using tensor::GridShape;
using tensor::Numbers;

constexpr uint64_t kDefaultBlocks = 512;
constexpr uint64_t kMaxBlocks = 1'024;

enum class MapOf { kLeft, kRight, kDifference, kUlps };

MapOf ReadMapOf(Arguments& arguments, bool compared) {
  const std::string of = arguments.Text("of");
  if (of.empty() || of == "left") return MapOf::kLeft;
  if (compared && of == "right") return MapOf::kRight;
  if (compared && of == "difference") return MapOf::kDifference;
  if (compared && of == "ulps") return MapOf::kUlps;
  arguments.Fail("of", "'" + of +
                           "' is not one of left and, if 'with' is given, "
                           "right, difference, ulps");
  return MapOf::kLeft;
}

std::string PairText(const GridShape& shape) {
  return absl::StrCat(shape.rows, ",", shape.columns);
}

void Append(const std::vector<float>& values, std::string& body) {
  const size_t bytes = values.size() * sizeof(float);
  body.append(reinterpret_cast<const char*>(values.data()), bytes);
}

http::Response MapResponse(const BlockMap& map, const TensorPieces& tensor) {
  http::Response response;
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set("X-Graphdbg-Dtype", "float32");
  response.headers.Set("X-Graphdbg-Shape", "5," + PairText(map.blocks()));
  response.headers.Set("X-Graphdbg-Grid", PairText(map.grid()));
  response.headers.Set("X-Graphdbg-Block", PairText(map.block()));
  response.headers.Set("X-Graphdbg-Step", absl::StrCat(tensor.head().step));
  const BlockMap::Values values = map.Finish();
  for (const std::vector<float>* plane :
       {&values.extreme, &values.min, &values.max, &values.mean,
        &values.non_finite}) {
    Append(*plane, response.body);
  }
  return response;
}

jobs::StatusTask Fill(TensorPieces& tensor, BlockMap& map) {
  co_return co_await ForEachPiece(tensor, [&map](const Numbers& piece) {
    map.Add(piece);
    return absl::OkStatus();
  });
}

jobs::StatusTask Fill(ComparedTensors& sides, MapOf of, BlockMap& map) {
  if (of == MapOf::kLeft) co_return co_await Fill(sides.left, map);
  if (of == MapOf::kRight) co_return co_await Fill(sides.right, map);
  co_return co_await ForEachPair(
      sides.left, sides.right, [&map, of](const Numbers& a, const Numbers& b) {
        return of == MapOf::kUlps ? map.AddUlps(a, b) : map.AddDifference(a, b);
      });
}

}  // namespace

Answer GetTensorMap(const Services& services, const http::Request& request,
                    const JobPtr& job) {
  Arguments arguments(request);
  const bool compared = !arguments.Text("with").empty();
  ComparedQuery query;
  if (compared) {
    query = ReadComparedQuery(arguments);
  } else {
    query.left = ReadTensorQuery(arguments);
    query.left.slice = arguments.Text("slice");
  }
  const MapOf of = ReadMapOf(arguments, compared);
  const uint64_t rows =
      arguments.Integer("rows", 1, kMaxBlocks).value_or(kDefaultBlocks);
  const uint64_t columns =
      arguments.Integer("columns", 1, kMaxBlocks).value_or(kDefaultBlocks);
  CO_RETURN_IF_ERROR(arguments.status());
  if (!compared) {
    CO_ASSIGN_OR_RETURN(
        TensorPieces tensor,
        co_await TensorPieces::Open(job, query.left, request.has_gone));
    BlockMap map(tensor::GridOf(tensor.slice_shape()), rows, columns);
    CO_RETURN_IF_ERROR(co_await Fill(tensor, map));
    co_return MapResponse(map, tensor);
  }
  CO_ASSIGN_OR_RETURN(
      ComparedTensors sides,
      co_await OpenCompared(services, job, std::move(query), request.has_gone));
  BlockMap map(tensor::GridOf(sides.left.slice_shape()), rows, columns);
  CO_RETURN_IF_ERROR(co_await Fill(sides, of, map));
  co_return MapResponse(map, of == MapOf::kRight ? sides.right : sides.left);
}

}  // namespace graphdbg::api
