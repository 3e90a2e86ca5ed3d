// Splits a slice of a tensor into smaller slices, in row-major order.
#ifndef SERVER_TENSOR_PIECE_PLAN_H_
#define SERVER_TENSOR_PIECE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/tensor/slice.h"

namespace graphdbg::tensor {

// Splits along the first dimension whose rows are small enough:
//
//   shape [2, 1000, 8], 4 bytes per element, pieces of 16,000 bytes:
//   [0,0:500] [0,500:1000] [1,0:500] [1,500:1000]
class PiecePlan {
 public:
  // The slice must be within the shape, and its size in bytes must fit 64 bits.
  // Pieces are as large as possible up to `max_bytes`, but at least one
  // element.
  PiecePlan(std::vector<int64_t> shape, Slice slice, uint64_t item_bytes,
            uint64_t max_bytes);

  struct Piece {
    // NumPy basic indexing. Empty selects everything.
    std::string slice;
    uint64_t elements = 0;
  };
  // Absent after the last piece. An empty slice has no pieces.
  std::optional<Piece> Next();

 private:
  std::string TextOf(int64_t end) const;
  // Advances the indices before the split dimension. False after the last.
  bool Advance();

  const std::vector<int64_t> shape_;
  const Slice slice_;
  // The dimension that is split, and the elements of one of its rows.
  size_t split_ = 0;
  uint64_t row_elements_ = 1;
  int64_t rows_per_piece_ = 1;
  // The dimensions from here on are taken whole, and need not be named.
  size_t whole_from_ = 0;
  // Start of the next piece: the indices before the split dimension, and the
  // row. Both count the elements of the slice.
  std::vector<int64_t> prefix_;
  int64_t row_ = 0;
  bool done_ = false;
};

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_PIECE_PLAN_H_
