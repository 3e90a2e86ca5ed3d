// Sizes of dense tensors, computed from shapes that an agent or a client sent.
#ifndef SERVER_TENSOR_SHAPE_H_
#define SERVER_TENSOR_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/tensor/dtype.h"

namespace graphdbg::tensor {

// Absent if a dimension is negative or the product does not fit.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape);

// Absent as well if elements of this type cannot be read.
std::optional<uint64_t> DenseBytes(DType dtype,
                                   const std::vector<int64_t>& shape);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_SHAPE_H_
