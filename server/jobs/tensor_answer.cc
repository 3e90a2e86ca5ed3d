#include "server/jobs/tensor_answer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/tensor/shape.h"

namespace graphdbg::jobs {
namespace {

// Agents may announce more than they send, so large tensors are not reserved as
// a whole.
constexpr uint64_t kFirstBytes = uint64_t{8} << 20;

absl::Status BadAnswer(const std::string& violation) {
  return Error(absl::StatusCode::kInternal, "bad_answer",
               "the agent's answer violates the protocol: " + violation);
}

}  // namespace

TensorAnswer::TensorAnswer(const model::TensorQuery& query, uint64_t max_bytes,
                           const std::shared_ptr<MemoryBudget>& memory)
    : max_bytes_(max_bytes), want_data_(query.want_data) {
  if (memory != nullptr) memory_ = memory->Count(MemoryAccount::kTensors);
  value_.node = query.node;
  value_.slot = query.slot;
  value_.rank = query.rank;
}

absl::Status TensorAnswer::Check(const TensorChunk& chunk) {
  if (has_header_ == chunk.header.has_value()) {
    return BadAnswer(has_header_ ? "a second header" : "no header");
  }
  if (chunk.header) RETURN_IF_ERROR(ReadHeader(*chunk.header));
  if (chunk.data.size() > total_bytes_ - value_.data.size()) {
    return BadAnswer(
        absl::StrCat("more than the announced ", total_bytes_, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status TensorAnswer::ReadHeader(const TensorHeader& header) {
  if (header.total_bytes > max_bytes_) {
    return Error(absl::StatusCode::kResourceExhausted, "slice_too_large",
                 absl::StrCat("the slice has ", header.total_bytes,
                              " bytes; the limit is ", max_bytes_));
  }
  // Frontends read the elements by type and shape and rely on their number.
  const DType dtype = header.type.dtype;
  const bool fits = want_data_
                        ? ItemSize(dtype) == 0 ||
                              tensor::DenseBytes(dtype, header.slice_shape) ==
                                  header.total_bytes
                        : header.total_bytes == 0;
  if (!fits) {
    return BadAnswer(absl::StrCat("a size of ", header.total_bytes,
                                  " bytes does not match type and shape"));
  }
  has_header_ = true;
  total_bytes_ = header.total_bytes;
  value_.step = header.step;
  value_.type = header.type;
  value_.slice_shape = header.slice_shape;
  value_.overwritten = header.overwritten;
  value_.grad_scale = header.grad_scale;
  value_.statistics = header.statistics;
  value_.quantiles = header.quantiles;
  return absl::OkStatus();
}

absl::Status TensorAnswer::Append(const TensorChunk& chunk) {
  RETURN_IF_ERROR(Grow(value_.data.size() + chunk.data.size()));
  for (absl::string_view part : chunk.data.Chunks()) {
    value_.data.append(part.data(), part.size());
  }
  return absl::OkStatus();
}

absl::Status TensorAnswer::Grow(uint64_t bytes) {
  if (bytes <= capacity_) return absl::OkStatus();
  const uint64_t wanted =
      std::min(total_bytes_, std::max({bytes, kFirstBytes, 2 * capacity_}));
  // The old and the new buffer exist together while the data is copied.
  RETURN_IF_ERROR(memory_.Resize(capacity_ + wanted));
  value_.data.reserve(wanted);
  capacity_ = wanted;
  return memory_.Resize(wanted);
}

absl::StatusOr<model::TensorValue> TensorAnswer::Finish() {
  if (value_.data.size() != total_bytes_) {
    return BadAnswer(absl::StrCat(value_.data.size(), " of ", total_bytes_,
                                  " bytes received"));
  }
  value_.memory =
      std::make_shared<MemoryBudget::Reservation>(std::move(memory_));
  return std::move(value_);
}

}  // namespace graphdbg::jobs
