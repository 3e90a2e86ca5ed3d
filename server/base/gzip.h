// gzip (RFC 1952) of whole texts.
#ifndef SERVER_BASE_GZIP_H_
#define SERVER_BASE_GZIP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg {

// For what is made anew often: little compression, quickly.
std::string Gzip(std::string_view bytes);

// INVALID_ARGUMENT if it is not gzip, or holds more than `max_bytes`.
absl::StatusOr<std::string> Gunzip(std::string_view gzip, uint64_t max_bytes);

}  // namespace graphdbg

#endif  // SERVER_BASE_GZIP_H_
