// Tensor bytes as JSON text.
#ifndef SERVER_API_TENSOR_TEXT_H_
#define SERVER_API_TENSOR_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::api {

// The size of one element. Absent for dtypes whose values graphdbg cannot read.
std::optional<uint64_t> ItemBytes(std::string_view dtype);

// The number of elements. Absent if a dimension is negative or if the number
// overflows.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape);

// Converts little-endian, row-major elements into nested lists, or into a
// scalar if the shape has no dimensions. Floats are the shortest decimals that
// round-trip in their dtype, NaN and infinities are strings, and complex
// numbers are [re, im]. Returns UNIMPLEMENTED "unreadable_dtype" for other
// dtypes, and INTERNAL "bad_tensor" if the data does not match the shape.
absl::StatusOr<std::string> NestedLists(std::string_view dtype,
                                        const std::vector<int64_t>& shape,
                                        std::string_view data);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_TEXT_H_
