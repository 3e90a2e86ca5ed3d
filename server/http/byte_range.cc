#include "server/http/byte_range.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/string_views.h"
#include "server/http/problem.h"

namespace graphdbg::http {
namespace {

constexpr std::string_view kUnit = "bytes=";

// Whether `text` is empty or a number.
bool ReadNumber(std::string_view text, std::optional<uint64_t>& number) {
  if (text.empty()) return true;
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || stopped != end) return false;
  number = value;
  return true;
}

}  // namespace

std::optional<ByteRange> AskedRange::In(uint64_t size) const {
  if (!first) {
    const uint64_t count = std::min(*last, size);
    if (count == 0) return std::nullopt;
    return ByteRange{size - count, size};
  }
  if (*first >= size) return std::nullopt;
  return ByteRange{*first, last && *last < size ? *last + 1 : size};
}

std::optional<AskedRange> AskedRangeOf(const Request& request) {
  if (request.headers.Has("If-Range")) return std::nullopt;
  return ParseRange(request.headers.Get("Range"));
}

std::optional<AskedRange> ParseRange(std::string_view header) {
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kUnit))) {
    return std::nullopt;
  }
  const std::string_view range =
      ToStd(absl::StripAsciiWhitespace(ToAbsl(header.substr(kUnit.size()))));
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  AskedRange asked;
  if (!ReadNumber(range.substr(0, dash), asked.first) ||
      !ReadNumber(range.substr(dash + 1), asked.last)) {
    return std::nullopt;
  }
  const bool is_empty = !asked.first && !asked.last;
  const bool is_reversed =
      asked.first && asked.last && *asked.last < *asked.first;
  if (is_empty || is_reversed) return std::nullopt;
  return asked;
}

void SetRange(const ByteRange& range, uint64_t size, Response& response) {
  response.status = 206;
  response.headers.Set("Content-Range", absl::StrCat("bytes ", range.begin, "-",
                                                     range.end - 1, "/", size));
}

Response NoSuchRange(uint64_t size) {
  Response response = ProblemResponse(
      416, "no_such_range",
      absl::StrCat("none of the bytes exists: the body has ", size));
  response.headers.Set("Content-Range", absl::StrCat("bytes */", size));
  return response;
}

}  // namespace graphdbg::http
