// Parts of a tensor, named in NumPy's basic indexing: "[0, :, 10:20, ...,
// ::-1]".
#ifndef AGENT_TENSOR_SLICE_H_
#define AGENT_TENSOR_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg {

// One dimension, resolved: elements start, start + step, ...; count of them.
struct SliceDimension {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
  // Came from an integer index: not a dimension of the result.
  bool drop = false;
};

// One per dimension of the tensor.
using Slice = std::vector<SliceDimension>;

// All of a tensor.
Slice WholeSlice(const std::vector<int64_t>& shape);

// Integers, `start:stop:step`, and one ellipsis, with or without brackets;
// negative numbers count from the end, slices are clipped, indices are not.
// Empty text: all. Errors are INVALID_ARGUMENT, name the column (from 1) and
// the limit, and have "bad_slice" as their payload "graphdbg/reason".
absl::StatusOr<Slice> ParseSlice(absl::string_view text,
                                 const std::vector<int64_t>& shape);

// Whether a slice resolved elsewhere lies within the shape. Errors as above.
absl::Status CheckSlice(const Slice& slice, const std::vector<int64_t>& shape);

// Without the dropped dimensions.
std::vector<int64_t> ShapeOf(const Slice& slice);
int64_t ElementCount(const Slice& slice);

// Copies the elements of a slice in row-major order, a piece at a time.
class SliceReader {
 public:
  // The view's memory and arrays must outlive the reader; the slice must lie
  // within its shape (CheckSlice) and the item size must not be 0.
  SliceReader(const TensorView& view, const Slice& slice);

  bool done() const { return left_ == 0; }
  // Bytes in all.
  int64_t total_bytes() const { return total_ * item_size_; }
  // Appends whole elements, at most `max_bytes` of them but at least one.
  void Read(int64_t max_bytes, std::string* out);

 private:
  struct Dimension {
    int64_t count;
    // From one element of the slice to the next.
    int64_t stride_bytes;
    int64_t index;
  };

  // A dimension around those there are.
  void Add(int64_t count, int64_t stride_bytes);
  void Advance();

  const char* at_;
  const int64_t item_size_;
  // The innermost first; neighbours that are evenly spaced as one.
  std::vector<Dimension> dimensions_;
  int64_t total_;
  int64_t left_;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_SLICE_H_
