#include "server/tensor/piece_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::tensor {

PiecePlan::PiecePlan(std::vector<int64_t> shape, uint64_t item_bytes,
                     uint64_t max_bytes)
    : shape_(std::move(shape)) {
  uint64_t bytes = item_bytes;
  // From the innermost dimension outwards.
  for (size_t d = shape_.size(); d-- > 0;) {
    if (bytes <= max_bytes || row_bytes_ == 0) {
      split_ = d;
      row_bytes_ = bytes;
    }
    bytes *= static_cast<uint64_t>(shape_[d]);
  }
  total_bytes_ = bytes;
  done_ = bytes == 0;
  prefix_.assign(split_, 0);
  if (row_bytes_ == 0) return;
  rows_per_piece_ =
      static_cast<int64_t>(std::max<uint64_t>(1, max_bytes / row_bytes_));
}

std::optional<PiecePlan::Piece> PiecePlan::Next() {
  if (done_) return std::nullopt;
  if (shape_.empty()) {
    done_ = true;
    return Piece{"", total_bytes_};
  }
  Piece piece;
  for (int64_t index : prefix_) absl::StrAppend(&piece.slice, index, ",");
  const int64_t end = row_ + std::min(rows_per_piece_, shape_[split_] - row_);
  absl::StrAppend(&piece.slice, row_, ":", end);
  piece.bytes = static_cast<uint64_t>(end - row_) * row_bytes_;
  row_ = end;
  if (row_ == shape_[split_]) done_ = !Advance();
  return piece;
}

bool PiecePlan::Advance() {
  row_ = 0;
  for (size_t d = split_; d-- > 0;) {
    if (++prefix_[d] < shape_[d]) return true;
    prefix_[d] = 0;
  }
  return false;
}

}  // namespace graphdbg::tensor
