// The elements of a view in memory order, for computations that do not depend
// on the order of elements.
//
//   a transposed 3x4 view, shape {4, 3}, strides {1, 4}   ->  one run of 12
//   columns 0..1 of a 5x8 matrix                          ->  5 runs of 2
//   a row broadcast to 100 rows, strides {0, 1}           ->  one run with
//                                                             multiplicity 100
#ifndef AGENT_TENSOR_LAYOUT_H_
#define AGENT_TENSOR_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/tensor/tensor_view.h"

namespace graphdbg {

// Dimensions in ascending order of strides. Strides are positive and sizes are
// greater than one; contiguous dimensions are merged.
struct Layout {
  struct Dimension {
    int64_t size;
    int64_t stride;
  };

  // Leaves the dimensions as they are: there is room for many.
  Layout() {}

  // The element with the lowest address.
  const char* base = nullptr;
  // Number of elements, not counting broadcast ones, and how often each of them
  // occurs in the view.
  int64_t count = 0;
  int64_t multiplicity = 1;
  size_t ndim = 0;
  std::array<Dimension, kMaxDimensions> dimensions;

  // Absent if the view's shape is invalid. Does not allocate.
  static std::optional<Layout> Of(const TensorView& view);

  // Length of a contiguous run of elements.
  int64_t run_length() const {
    return ndim > 0 && dimensions[0].stride == 1 ? dimensions[0].size : 1;
  }
  // Whether all elements are contiguous.
  bool is_one_run() const { return count == 0 || run_length() == count; }
};

// Iterates over the contiguous runs of a layout.
class RunWalker {
 public:
  // `layout` must outlive the walker.
  RunWalker(const Layout& layout, size_t item_size);

  bool done() const { return left_ == 0; }
  const char* run() const { return at_; }
  void Next();

 private:
  const Layout& layout_;
  const int64_t item_size_;
  const size_t first_;
  int64_t left_;
  const char* at_;
  std::array<int64_t, kMaxDimensions> index_;
};

}  // namespace graphdbg

#endif  // AGENT_TENSOR_LAYOUT_H_
