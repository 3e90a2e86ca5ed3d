// Tensor bytes as JSON text.
#ifndef SERVER_API_TENSOR_TEXT_H_
#define SERVER_API_TENSOR_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// Converts little-endian, row-major elements into nested lists, or into a
// scalar if the shape has no dimensions. Floats are the shortest decimals that
// round-trip in their dtype, NaN and infinities are strings, and complex
// numbers are [re, im]. Returns UNIMPLEMENTED "unreadable_dtype" for other
// dtypes, and INTERNAL "bad_tensor" if the data does not match the shape.
absl::StatusOr<std::string> NestedLists(const model::TensorType& type,
                                        const std::vector<int64_t>& shape,
                                        std::string_view data);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_TEXT_H_
