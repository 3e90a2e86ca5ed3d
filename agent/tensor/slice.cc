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

SliceReader::SliceReader(const TensorView& view, const Slice& slice)
    : at_(static_cast<const char*>(view.data)),
      item_size_(static_cast<int64_t>(ItemSize(view.dtype))),
      total_(ElementCount(slice)),
      left_(total_) {
  if (left_ == 0) return;
  int64_t row_major = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    const int64_t stride =
        (view.strides != nullptr ? view.strides[d] : row_major) * item_size_;
    row_major *= view.shape[d];
    at_ += slice[d].start * stride;
    AddDimension(slice[d].count, slice[d].step * stride);
  }
}

void SliceReader::AddDimension(int64_t count, int64_t stride_bytes) {
  if (count == 1) return;
  if (!dimensions_.empty()) {
    Dimension& inner = dimensions_.back();
    if (stride_bytes == inner.count * inner.stride_bytes) {
      inner.count *= count;
      return;
    }
  }
  dimensions_.push_back({count, stride_bytes, 0});
}

void SliceReader::Advance() {
  --left_;
  for (Dimension& dim : dimensions_) {
    at_ += dim.stride_bytes;
    if (++dim.index < dim.count) return;
    at_ -= dim.count * dim.stride_bytes;
    dim.index = 0;
  }
}

void SliceReader::Read(int64_t max_bytes, std::string* out) {
  int64_t room = std::min(std::max<int64_t>(max_bytes / item_size_, 1), left_);
  out->reserve(out->size() + static_cast<size_t>(room * item_size_));
  const bool in_runs =
      !dimensions_.empty() && dimensions_[0].stride_bytes == item_size_;
  while (room > 0) {
    int64_t run = 1;
    if (in_runs) {
      // The rest of the innermost dimension is contiguous.
      Dimension& row = dimensions_[0];
      run = std::min(room, row.count - row.index);
      row.index += run - 1;
    }
    out->append(at_, static_cast<size_t>(run * item_size_));
    at_ += (run - 1) * item_size_;
    left_ -= run - 1;
    room -= run;
    Advance();
  }
}

}  // namespace graphdbg
