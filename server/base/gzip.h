// Compression of whole strings with gzip (RFC 1952).
#ifndef SERVER_BASE_GZIP_H_
#define SERVER_BASE_GZIP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg {

// Compresses fast rather than well, for data that is compressed often.
std::string Gzip(std::string_view bytes);

// INVALID_ARGUMENT if the input is not valid gzip or expands to more than
// `max_bytes`.
absl::StatusOr<std::string> Gunzip(std::string_view gzip, uint64_t max_bytes);

}  // namespace graphdbg

#endif  // SERVER_BASE_GZIP_H_
