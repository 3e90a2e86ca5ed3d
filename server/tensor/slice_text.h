// Slices as NumPy's basic indexing.
#ifndef SERVER_TENSOR_SLICE_TEXT_H_
#define SERVER_TENSOR_SLICE_TEXT_H_

#include <cstdint>
#include <string>

#include "agent/tensor/slice.h"

namespace graphdbg::tensor {

// The elements `first` to `end`, without it, of a dimension of a slice.
std::string RangeText(const SliceDimension& dimension, int64_t first,
                      int64_t end);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_SLICE_TEXT_H_
