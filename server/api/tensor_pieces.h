// Reads slices of any size from a job, piece by piece.
#ifndef SERVER_API_TENSOR_PIECES_H_
#define SERVER_API_TENSOR_PIECES_H_

#include <functional>
#include <string>
#include <vector>

#include "server/api/handlers.h"
#include "server/model/tensor.h"
#include "server/tensor/numbers.h"
#include "server/tensor/piece_plan.h"

namespace graphdbg::api {

// A slice of a tensor at a step. Holds one piece at a time.
class TensorPieces {
 public:
  // Large enough that the time of a request does not matter.
  static constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

  // Errors as Job::Tensor; INVALID_ARGUMENT "bad_slice"; UNIMPLEMENTED
  // "unreadable_dtype". Reads no more once `has_gone`, which may be null, tells
  // that nobody waits for the result.
  static jobs::Task<TensorPieces> Open(JobPtr job, model::TensorQuery query,
                                       std::function<bool()> has_gone);

  // The tensor without values.
  const model::TensorValue& head() const { return head_; }
  const std::vector<int64_t>& slice_shape() const { return head_.slice_shape; }
  uint64_t item_bytes() const;

  // Splits the slice into pieces of elements of this size.
  tensor::PiecePlan Plan(uint64_t item_bytes) const;
  // The elements of a piece, which are valid until the next call. ABORTED
  // "value_gone" if the tensor has changed since it was opened; CANCELLED.
  jobs::Task<tensor::Numbers> Read(const tensor::PiecePlan::Piece& piece);

 private:
  TensorPieces(JobPtr job, model::TensorQuery query, model::TensorValue head,
               Slice slice, std::function<bool()> has_gone);

  JobPtr job_;
  model::TensorQuery query_;
  model::TensorValue head_;
  Slice slice_;
  std::function<bool()> has_gone_;
  // The last piece. A slice of one piece is fetched only once.
  std::optional<std::string> read_;
  model::TensorValue piece_;
};

// Whether two answers to a query belong to the same value.
bool IsSameValue(const model::TensorValue& a, const model::TensorValue& b);

// Passes all elements to `use`.
jobs::StatusTask ForEachPiece(
    TensorPieces& tensor,
    std::function<absl::Status(const tensor::Numbers&)> use);

// Passes the elements of two slices of the same shape to `use`, the same ones
// of both at a time.
jobs::StatusTask ForEachPair(
    TensorPieces& left, TensorPieces& right,
    std::function<absl::Status(const tensor::Numbers&, const tensor::Numbers&)>
        use);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_PIECES_H_
