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

// Little-endian, row-major elements as nested lists, a scalar for no
// dimensions. Floats are the shortest decimals that read back as the same
// value of their type; NaN and infinities are strings, complex numbers
// [re, im]. UNIMPLEMENTED "unreadable_dtype" for other types, INTERNAL
// "bad_tensor" if the bytes do not fit the shape.
absl::StatusOr<std::string> NestedLists(const model::TensorType& type,
                                        const std::vector<int64_t>& shape,
                                        std::string_view data);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_TEXT_H_
