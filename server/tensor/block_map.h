// Reduces a tensor to as many blocks as a picture of it shows.
#ifndef SERVER_TENSOR_BLOCK_MAP_H_
#define SERVER_TENSOR_BLOCK_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// Rows and columns of a slice: its last dimension, and all others together. A
// vector is wrapped into a square, whose last row may be shorter.
struct GridShape {
  uint64_t rows = 0;
  uint64_t columns = 0;
};
GridShape GridOf(const std::vector<int64_t>& slice_shape);

// Blocks of the same size, of which the last ones of each dimension may be
// smaller.
class BlockMap {
 public:
  // At most this many rows and columns of blocks, each at least 1.
  BlockMap(GridShape grid, uint64_t max_rows, uint64_t max_columns);

  // The next elements, in row-major order.
  void Add(double number);
  // A complex element is its magnitude.
  void Add(const Numbers& numbers);
  // left - right; 0 for two NaN or the same infinity. INVALID_ARGUMENT
  // "shapes_differ" as Comparer::Add.
  absl::Status AddDifference(const Numbers& left, const Numbers& right);
  // In units in the last place; NaN where only one is finite. INVALID_ARGUMENT
  // "no_ulps" if the elements are not floats of the same type.
  absl::Status AddUlps(const Numbers& left, const Numbers& right);

  const GridShape& grid() const { return grid_; }
  // Elements of a block.
  const GridShape& block() const { return block_; }
  const GridShape& blocks() const { return blocks_; }

  // By block, in row-major order.
  struct Values {
    // The number with the largest magnitude; NaN if the block has one.
    std::vector<float> extreme;
    // Over the finite elements; NaN if there are none. Numbers beyond the range
    // of float32 are the nearest ones within it.
    std::vector<float> min;
    std::vector<float> max;
    std::vector<float> mean;
    // Number of elements that are NaN or infinite.
    std::vector<float> non_finite;
  };
  Values Finish() const;

 private:
  struct Block {
    double extreme = 0;
    double min = 0;
    double max = 0;
    double sum = 0;
    uint64_t finite = 0;
    uint64_t non_finite = 0;
  };

  GridShape grid_;
  GridShape block_;
  GridShape blocks_;
  std::vector<Block> values_;
  // Of the next element.
  uint64_t row_ = 0;
  uint64_t column_ = 0;
};

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_BLOCK_MAP_H_
