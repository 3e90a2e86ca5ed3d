// Consecutive elements of a slice of a tensor.
#ifndef SERVER_TENSOR_ELEMENT_RANGE_H_
#define SERVER_TENSOR_ELEMENT_RANGE_H_

#include <cstdint>
#include <vector>

#include "agent/tensor/slice.h"
#include "server/tensor/piece_plan.h"

namespace graphdbg::tensor {

// The slices that consist of the elements `begin` to `end`, without it, of a
// slice in row-major order; at most two for each dimension but one:
//
//   shape [4, 10], elements 8 to 32: [0,8:10] [1:3] [3,0:2]
//
// The slice has these elements.
std::vector<PiecePlan::Piece> PiecesOf(const Slice& slice, uint64_t begin,
                                       uint64_t end);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_ELEMENT_RANGE_H_
