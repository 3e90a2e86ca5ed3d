// Splits a tensor into slices that are consecutive in memory.
#ifndef SERVER_TENSOR_PIECE_PLAN_H_
#define SERVER_TENSOR_PIECE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphdbg::tensor {

// Splits along the first dimension whose rows are small enough:
//
//   shape [2, 1000, 8], 4 bytes per element, pieces of 16,000 bytes:
//   [0,0:500] [0,500:1000] [1,0:500] [1,500:1000]
class PiecePlan {
 public:
  // The tensor's size in bytes must fit 64 bits. Pieces are as large as
  // possible up to `max_bytes`, but at least one element.
  PiecePlan(std::vector<int64_t> shape, uint64_t item_bytes,
            uint64_t max_bytes);

  struct Piece {
    // NumPy basic indexing. Empty selects everything.
    std::string slice;
    uint64_t bytes = 0;
  };
  // Absent after the last piece. An empty tensor has no pieces.
  std::optional<Piece> Next();

  uint64_t total_bytes() const { return total_bytes_; }

 private:
  // Advances the indices before the split dimension. False after the last.
  bool Advance();

  const std::vector<int64_t> shape_;
  uint64_t total_bytes_ = 0;
  // The dimension that is split, and the size of one of its rows.
  size_t split_ = 0;
  uint64_t row_bytes_ = 0;
  int64_t rows_per_piece_ = 0;
  // Start of the next piece: the indices before the split dimension, and the
  // row.
  std::vector<int64_t> prefix_;
  int64_t row_ = 0;
  bool done_ = false;
};

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_PIECE_PLAN_H_
