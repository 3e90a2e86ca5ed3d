// The Range header (RFC 9110 section 14), for one range of bytes.
#ifndef SERVER_HTTP_BYTE_RANGE_H_
#define SERVER_HTTP_BYTE_RANGE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/http/message.h"

namespace graphdbg::http {

// The bytes from `begin` up to, but without `end`.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What a Range header asks for: "bytes=0-15", "bytes=16-" or "bytes=-16".
struct AskedRange {
  // Absent: the last `last` bytes.
  std::optional<uint64_t> first;
  // Inclusive. Absent: up to the end.
  std::optional<uint64_t> last;

  // The range in a body of this size. Absent if the body has none of these
  // bytes, which is status 416.
  std::optional<ByteRange> In(uint64_t size) const;
};

// Absent if the whole body is to be sent: there is no such header, it asks for
// several ranges or another unit, or it depends on a validator (If-Range),
// which bodies with ranges do not have.
std::optional<AskedRange> AskedRangeOf(const Request& request);
std::optional<AskedRange> ParseRange(std::string_view header);

// Makes the response the answer to a request for a range, whose bytes are its
// body: status 206.
void SetRange(const ByteRange& range, uint64_t size, Response& response);
// Status 416.
Response NoSuchRange(uint64_t size);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_BYTE_RANGE_H_
