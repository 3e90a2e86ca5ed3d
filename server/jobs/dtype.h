// Element types by NumPy's names.
#ifndef SERVER_JOBS_DTYPE_H_
#define SERVER_JOBS_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace graphdbg::jobs {

// Absent for types whose elements graphdbg does not read.
std::optional<uint64_t> ItemBytes(std::string_view dtype);

// Bytes of a dense tensor; absent if a size is negative or the product does not
// fit.
std::optional<uint64_t> DenseBytes(uint64_t item_bytes,
                                   const std::vector<int64_t>& shape);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_DTYPE_H_
