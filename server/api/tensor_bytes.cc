#include "server/api/tensor_bytes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_pieces.h"
#include "server/base/error.h"
#include "server/tensor/element_range.h"
#include "server/tensor/shape.h"

namespace graphdbg::api {
namespace {

using http::ByteRange;
using model::TensorQuery;
using model::TensorValue;

absl::Status BadTensor() {
  return Error(absl::StatusCode::kInternal, "bad_tensor",
               "the job sent data that does not match the shape of the slice");
}

bool Fits(uint64_t bytes, uint64_t count, uint64_t item_bytes) {
  return bytes % item_bytes == 0 && bytes / item_bytes == count;
}

void Describe(const TensorValue& value, http::Response& response) {
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set("Accept-Ranges", "bytes");
  response.headers.Set("X-Graphdbg-Dtype", model::DTypeName(value.type));
  response.headers.Set("X-Graphdbg-Shape",
                       absl::StrJoin(value.slice_shape, ","));
  response.headers.Set("X-Graphdbg-Step", std::to_string(value.step));
  response.headers.Set("X-Graphdbg-Overwritten",
                       value.overwritten ? "true" : "false");
  if (value.grad_scale != 0) {
    response.headers.Set("X-Graphdbg-Grad-Scale",
                         absl::StrCat(value.grad_scale));
  }
}

absl::Status CheckSize(const ByteRange& range) {
  if (range.end - range.begin <= kMaxTensorBytes) return absl::OkStatus();
  return Error(
      absl::StatusCode::kResourceExhausted, "slice_too_large",
      absl::StrCat("the range has ", range.end - range.begin,
                   " bytes, but responses are limited to ", kMaxTensorBytes));
}

// Cuts the bytes out of all of them.
absl::StatusOr<http::Response> Cut(TensorValue value,
                                   const http::AskedRange& asked) {
  ASSIGN_OR_RETURN(http::Response response, BytesOf(std::move(value)));
  const uint64_t size = response.body.size();
  const auto range = asked.In(size);
  if (!range) return http::NoSuchRange(size);
  response.body = response.body.substr(range->begin, range->end - range->begin);
  http::SetRange(*range, size, response);
  return response;
}

// Reads slices of one value, one after the other.
class Pieces {
 public:
  Pieces(JobPtr job, TensorQuery query, const TensorValue& head)
      : job_(std::move(job)), query_(std::move(query)), head_(head) {}

  // Appends the elements to `body`.
  jobs::StatusTask Read(const tensor::PiecePlan::Piece& piece,
                        std::string& body) {
    const uint64_t bytes = piece.elements * ItemSize(head_.type.dtype);
    TensorQuery query = query_;
    query.slice = piece.slice;
    query.max_bytes = bytes;
    CO_ASSIGN_OR_RETURN(TensorValue value,
                        co_await job_->Tensor(std::move(query)));
    if (!IsSameValue(value, head_)) {
      co_return Error(absl::StatusCode::kAborted, "value_gone",
                      "the job continued while the tensor was being read");
    }
    if (value.data.size() != bytes) co_return BadTensor();
    if (body.empty()) {
      body = std::move(value.data);
    } else {
      body += value.data;
    }
    memory_.push_back(std::move(value.memory));
    co_return absl::OkStatus();
  }

  // Counts what was read in the server's memory budget.
  std::shared_ptr<const void> TakeMemory() {
    return std::make_shared<const std::vector<std::shared_ptr<const void>>>(
        std::move(memory_));
  }

 private:
  const JobPtr job_;
  const TensorQuery query_;
  const TensorValue& head_;
  std::vector<std::shared_ptr<const void>> memory_;
};

}  // namespace

absl::StatusOr<http::Response> BytesOf(TensorValue value) {
  auto count = tensor::ElementCount(value.slice_shape);
  const uint64_t item_bytes = ItemSize(value.type.dtype);
  if (!count ||
      (item_bytes != 0 && !Fits(value.data.size(), *count, item_bytes))) {
    return BadTensor();
  }
  http::Response response;
  Describe(value, response);
  response.body = std::move(value.data);
  response.memory = std::move(value.memory);
  return response;
}

Answer SomeBytesOf(JobPtr job, TensorQuery query, http::AskedRange asked) {
  TensorQuery about = query;
  about.slice.clear();
  about.want_data = false;
  CO_ASSIGN_OR_RETURN(TensorValue head, co_await job->Tensor(std::move(about)));
  const uint64_t item_bytes = ItemSize(head.type.dtype);
  if (item_bytes == 0) {
    CO_ASSIGN_OR_RETURN(TensorValue value,
                        co_await job->Tensor(std::move(query)));
    co_return Cut(std::move(value), asked);
  }
  if (!tensor::DenseBytes(head.type.dtype, head.type.shape)) {
    co_return BadTensor();
  }
  const auto slice = ParseSlice(query.slice, head.type.shape);
  if (!slice.ok()) co_return WithField(slice.status(), "slice");
  head.slice_shape = ShapeOf(*slice);
  const uint64_t size =
      static_cast<uint64_t>(ElementCount(*slice)) * item_bytes;
  const auto range = asked.In(size);
  if (!range) co_return http::NoSuchRange(size);
  CO_RETURN_IF_ERROR(CheckSize(*range));
  const uint64_t first = range->begin / item_bytes;
  const uint64_t end = (range->end + item_bytes - 1) / item_bytes;
  std::string body;
  Pieces pieces(job, std::move(query), head);
  for (const auto& piece : tensor::PiecesOf(*slice, first, end)) {
    CO_RETURN_IF_ERROR(co_await pieces.Read(piece, body));
  }
  http::Response response;
  Describe(head, response);
  response.body =
      body.substr(range->begin - first * item_bytes, range->end - range->begin);
  response.memory = pieces.TakeMemory();
  http::SetRange(*range, size, response);
  co_return response;
}

}  // namespace graphdbg::api
