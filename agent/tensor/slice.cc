#include "agent/tensor/slice.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphdbg {

Slice WholeSlice(const std::vector<int64_t>& shape) {
  Slice slice;
  for (int64_t size : shape) slice.push_back({0, size, 1, false});
  return slice;
}

std::vector<int64_t> ShapeOf(const Slice& slice) {
  std::vector<int64_t> shape;
  for (const SliceDimension& dim : slice) {
    if (!dim.drop) shape.push_back(dim.count);
  }
  return shape;
}

int64_t ElementCount(const Slice& slice) {
  int64_t count = 1;
  for (const SliceDimension& dim : slice) count *= dim.count;
  return count;
}

SliceReader::SliceReader(const TensorView& view, Slice slice)
    : at_(static_cast<const char*>(view.data)),
      item_size_(static_cast<int64_t>(ItemSize(view.dtype))),
      slice_(std::move(slice)),
      stride_bytes_(view.ndim),
      index_(view.ndim, 0),
      total_(ElementCount(slice_)),
      left_(total_) {
  int64_t row_major = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    const int64_t stride =
        (view.strides != nullptr ? view.strides[d] : row_major) * item_size_;
    if (left_ > 0) at_ += slice_[d].start * stride;
    stride_bytes_[d] = slice_[d].step * stride;
    row_major *= view.shape[d];
  }
}

void SliceReader::Advance() {
  --left_;
  for (size_t d = slice_.size(); d-- > 0;) {
    at_ += stride_bytes_[d];
    if (++index_[d] < slice_[d].count) return;
    at_ -= slice_[d].count * stride_bytes_[d];
    index_[d] = 0;
  }
}

void SliceReader::Read(int64_t max_bytes, std::string* out) {
  int64_t room = std::min(std::max<int64_t>(max_bytes / item_size_, 1), left_);
  const size_t last = slice_.empty() ? 0 : slice_.size() - 1;
  out->reserve(out->size() + static_cast<size_t>(room * item_size_));
  while (room > 0) {
    if (slice_.empty() || stride_bytes_[last] != item_size_) {
      out->append(at_, static_cast<size_t>(item_size_));
      Advance();
      --room;
      continue;
    }
    // The rest of the innermost row lies side by side.
    const int64_t run = std::min(room, slice_[last].count - index_[last]);
    out->append(at_, static_cast<size_t>(run * item_size_));
    at_ += (run - 1) * item_size_;
    index_[last] += run - 1;
    left_ -= run - 1;
    Advance();
    room -= run;
  }
}

}  // namespace graphdbg
