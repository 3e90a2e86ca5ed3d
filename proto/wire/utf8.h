// Conversion of strings for protobuf.
#ifndef PROTO_WIRE_UTF8_H_
#define PROTO_WIRE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace graphdbg::wire {

// Returns valid UTF-8 of at most `max_bytes` bytes: replaces invalid bytes by
// U+FFFD and truncates between characters. A message with a string that is not
// UTF-8 would end the whole stream.
std::string ToValidUtf8(absl::string_view text, size_t max_bytes);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_UTF8_H_
