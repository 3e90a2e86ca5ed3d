// A whole tensor as slices that follow each other in memory.
#ifndef SERVER_TENSOR_PIECE_PLAN_H_
#define SERVER_TENSOR_PIECE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphdbg::tensor {

// Cuts along the first dimension whose rows are small enough:
//
//   shape [2, 1000, 8], 4 bytes an element, pieces of 16,000 bytes:
//   [0,0:500] [0,500:1000] [1,0:500] [1,500:1000]
class PiecePlan {
 public:
  // The shape's bytes fit 64 bits. Pieces are as large as they can be up to
  // `max_bytes`, but at least one element.
  PiecePlan(std::vector<int64_t> shape, uint64_t item_bytes,
            uint64_t max_bytes);

  struct Piece {
    // NumPy's basic indexing; empty: all.
    std::string slice;
    uint64_t bytes = 0;
  };
  // Absent after the last; there is none of a tensor without elements.
  std::optional<Piece> Next();

  uint64_t total_bytes() const { return total_bytes_; }

 private:
  // To the next row of cuts; false after the last.
  bool Advance();

  const std::vector<int64_t> shape_;
  uint64_t total_bytes_ = 0;
  // The dimension that is cut, and bytes of one of its rows.
  size_t cut_ = 0;
  uint64_t row_bytes_ = 0;
  int64_t rows_of_a_piece_ = 0;
  // Where the next piece begins: indices before the cut, and the row.
  std::vector<int64_t> at_;
  int64_t row_ = 0;
  bool done_ = false;
};

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_PIECE_PLAN_H_
