#include "server/tensor/piece_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/tensor/slice_text.h"

namespace graphdbg::tensor {
namespace {

bool IsWhole(const SliceDimension& dimension, int64_t size) {
  return dimension.start == 0 && dimension.count == size &&
         dimension.step == 1 && !dimension.drop;
}

}  // namespace

PiecePlan::PiecePlan(std::vector<int64_t> shape, Slice slice,
                     uint64_t item_bytes, uint64_t max_bytes)
    : shape_(std::move(shape)), slice_(std::move(slice)) {
  const uint64_t max_elements = std::max<uint64_t>(1, max_bytes / item_bytes);
  uint64_t elements = 1;
  whole_from_ = slice_.size();
  // From the innermost dimension outwards.
  for (size_t d = slice_.size(); d-- > 0;) {
    if (elements <= max_elements) {
      split_ = d;
      row_elements_ = elements;
    }
    if (whole_from_ == d + 1 && IsWhole(slice_[d], shape_[d])) whole_from_ = d;
    elements *= static_cast<uint64_t>(slice_[d].count);
  }
  done_ = elements == 0;
  prefix_.assign(split_, 0);
  if (done_) return;
  rows_per_piece_ = static_cast<int64_t>(max_elements / row_elements_);
}

std::optional<PiecePlan::Piece> PiecePlan::Next() {
  if (done_) return std::nullopt;
  if (slice_.empty()) {
    done_ = true;
    return Piece{"", 1};
  }
  const int64_t count = slice_[split_].count;
  const int64_t end = row_ + std::min(rows_per_piece_, count - row_);
  Piece piece{TextOf(end), static_cast<uint64_t>(end - row_) * row_elements_};
  row_ = end;
  if (row_ == count) done_ = !Advance();
  return piece;
}

std::string PiecePlan::TextOf(int64_t end) const {
  std::string text;
  for (size_t d = 0; d < split_; ++d) {
    const int64_t index = slice_[d].start + prefix_[d] * slice_[d].step;
    absl::StrAppend(&text, index, ",");
  }
  text += RangeText(slice_[split_], row_, end);
  for (size_t d = split_ + 1; d < whole_from_; ++d) {
    absl::StrAppend(&text, ",", RangeText(slice_[d], 0, slice_[d].count));
  }
  return text;
}

bool PiecePlan::Advance() {
  row_ = 0;
  for (size_t d = split_; d-- > 0;) {
    if (++prefix_[d] < slice_[d].count) return true;
    prefix_[d] = 0;
  }
  return false;
}

}  // namespace graphdbg::tensor
