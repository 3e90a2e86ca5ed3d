// Parts of a tensor in the syntax of NumPy's basic indexing:
// "[0, :, 10:20, ..., ::-1]".
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

// A resolved dimension: `count` elements at start, start + step, ...
struct SliceDimension {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
  // Given as an integer index, and therefore not a dimension of the result.
  bool drop = false;
};

// One entry per dimension of the tensor.
using Slice = std::vector<SliceDimension>;

// A slice that selects all elements.
Slice WholeSlice(const std::vector<int64_t>& shape);

// Parses integers, `start:stop:step` and at most one ellipsis, with or without
// brackets. Negative numbers count from the end; ranges are clipped, indices
// are not. Empty text selects all elements. Errors are INVALID_ARGUMENT, name
// the column (from 1) and the limit, and carry the payload "graphdbg/reason"
// with the value "bad_slice".
absl::StatusOr<Slice> ParseSlice(absl::string_view text,
                                 const std::vector<int64_t>& shape);

// Checks that a slice from another process is within the shape. Errors as
// above.
absl::Status CheckSlice(const Slice& slice, const std::vector<int64_t>& shape);

// Shape of the result, without dropped dimensions.
std::vector<int64_t> ShapeOf(const Slice& slice);
int64_t ElementCount(const Slice& slice);

// Copies the elements of a slice in row-major order, in pieces.
class SliceReader {
 public:
  // The view's memory and arrays must outlive the reader. The slice must be
  // within its shape (CheckSlice()), and the item size must not be 0.
  SliceReader(const TensorView& view, const Slice& slice);

  bool done() const { return left_ == 0; }
  // Size of the whole slice.
  int64_t total_bytes() const { return total_ * item_size_; }
  // Appends whole elements: at most `max_bytes` bytes, but at least one
  // element.
  void Read(int64_t max_bytes, std::string* out);

 private:
  struct Dimension {
    int64_t count;
    // Distance between consecutive elements of the slice.
    int64_t stride_bytes;
    int64_t index;
  };

  // Adds a dimension outside the existing ones.
  void AddDimension(int64_t count, int64_t stride_bytes);
  void Advance();

  const char* at_;
  const int64_t item_size_;
  // The innermost first; evenly spaced neighbours are merged.
  std::vector<Dimension> dimensions_;
  int64_t total_;
  int64_t left_;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_SLICE_H_
