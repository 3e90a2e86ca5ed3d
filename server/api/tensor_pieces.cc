#include "server/api/tensor_pieces.h"

#include <algorithm>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/tensor/shape.h"

namespace graphdbg::api {

using model::TensorQuery;
using model::TensorValue;
using tensor::Numbers;
using tensor::PiecePlan;

bool IsSameValue(const TensorValue& a, const TensorValue& b) {
  return a.step == b.step && a.type == b.type &&
         a.overwritten == b.overwritten && a.stops_left == b.stops_left;
}

TensorPieces::TensorPieces(JobPtr job, TensorQuery query, TensorValue head,
                           Slice slice, std::function<bool()> has_gone)
    : job_(std::move(job)),
      query_(std::move(query)),
      head_(std::move(head)),
      slice_(std::move(slice)),
      has_gone_(std::move(has_gone)) {}

jobs::Task<TensorPieces> TensorPieces::Open(JobPtr job, TensorQuery query,
                                            std::function<bool()> has_gone) {
  TensorQuery about = query;
  about.slice.clear();
  about.want_data = false;
  CO_ASSIGN_OR_RETURN(TensorValue head, co_await job->Tensor(std::move(about)));
  // Fails for types that cannot be read.
  CO_RETURN_IF_ERROR(Numbers::Of(head.type, {}).status());
  if (!tensor::DenseBytes(head.type.dtype, head.type.shape)) {
    co_return Error(absl::StatusCode::kInternal, "bad_tensor",
                    "the job reported an invalid shape for this tensor");
  }
  auto slice = ParseSlice(query.slice, head.type.shape);
  if (!slice.ok()) co_return WithField(slice.status(), "slice");
  head.slice_shape = ShapeOf(*slice);
  co_return TensorPieces(std::move(job), std::move(query), std::move(head),
                         *std::move(slice), std::move(has_gone));
}

uint64_t TensorPieces::item_bytes() const { return ItemSize(head_.type.dtype); }

PiecePlan TensorPieces::Plan(uint64_t item_bytes) const {
  return PiecePlan(head_.type.shape, slice_, item_bytes, kPieceBytes);
}

jobs::Task<Numbers> TensorPieces::Read(const PiecePlan::Piece& piece) {
  if (read_ != piece.slice) {
    if (has_gone_ && has_gone_()) {
      co_return absl::CancelledError("nobody waits for the result");
    }
    read_.reset();
    // Two pieces need not exist at a time.
    piece_ = TensorValue();
    TensorQuery query = query_;
    query.slice = piece.slice;
    query.max_bytes = piece.elements * item_bytes();
    CO_ASSIGN_OR_RETURN(piece_, co_await job_->Tensor(std::move(query)));
    if (!IsSameValue(piece_, head_) ||
        piece_.data.size() != piece.elements * item_bytes()) {
      co_return Error(absl::StatusCode::kAborted, "value_gone",
                      "the job continued while the tensor was being read");
    }
    read_ = piece.slice;
  }
  co_return Numbers::Of(piece_.type, piece_.data);
}

jobs::StatusTask ForEachPiece(TensorPieces& tensor,
                              std::function<absl::Status(const Numbers&)> use) {
  PiecePlan plan = tensor.Plan(tensor.item_bytes());
  while (const auto piece = plan.Next()) {
    CO_ASSIGN_OR_RETURN(const Numbers numbers, co_await tensor.Read(*piece));
    CO_RETURN_IF_ERROR(use(numbers));
  }
  co_return absl::OkStatus();
}

jobs::StatusTask ForEachPair(
    TensorPieces& left, TensorPieces& right,
    std::function<absl::Status(const Numbers&, const Numbers&)> use) {
  // Slices of the same shape are split alike.
  const uint64_t item_bytes = std::max(left.item_bytes(), right.item_bytes());
  PiecePlan lefts = left.Plan(item_bytes);
  PiecePlan rights = right.Plan(item_bytes);
  while (const auto left_piece = lefts.Next()) {
    const auto right_piece = rights.Next();
    CO_ASSIGN_OR_RETURN(const Numbers a, co_await left.Read(*left_piece));
    CO_ASSIGN_OR_RETURN(const Numbers b, co_await right.Read(*right_piece));
    CO_RETURN_IF_ERROR(use(a, b));
  }
  co_return absl::OkStatus();
}

}  // namespace graphdbg::api
