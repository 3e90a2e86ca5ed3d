#include "server/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"

namespace graphdbg {
namespace {

// The largest window, in gzip's own wrapping.
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemory = 8;
constexpr int kQuick = 1;
constexpr size_t kPiece = 256 << 10;

// zlib counts in 32 bits: gives it the next part of the input.
void Feed(z_stream& stream, std::string_view& rest) {
  if (stream.avail_in != 0) return;
  const size_t size =
      std::min<size_t>(rest.size(), std::numeric_limits<uInt>::max());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
  stream.avail_in = static_cast<uInt>(size);
  rest.remove_prefix(size);
}

void MakeRoom(z_stream& stream, std::string& out, size_t used) {
  out.resize(used + kPiece);
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
  stream.avail_out = static_cast<uInt>(kPiece);
}

}  // namespace

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, kQuick, Z_DEFLATED, kGzipWindow, kMemory,
               Z_DEFAULT_STRATEGY);
  std::string out;
  size_t used = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    Feed(stream, bytes);
    MakeRoom(stream, out, used);
    state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    used = out.size() - stream.avail_out;
  }
  deflateEnd(&stream);
  out.resize(used);
  out.shrink_to_fit();
  return out;
}

absl::StatusOr<std::string> Gunzip(std::string_view gzip, uint64_t max_bytes) {
  z_stream stream{};
  inflateInit2(&stream, kGzipWindow);
  std::string out;
  size_t used = 0;
  int state = Z_OK;
  while (state == Z_OK && used <= max_bytes) {
    Feed(stream, gzip);
    MakeRoom(stream, out, used);
    state = inflate(&stream, Z_NO_FLUSH);
    used = out.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  if (used > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("gzip holds more than ", max_bytes, " bytes"));
  }
  if (state != Z_STREAM_END) return absl::InvalidArgumentError("bad gzip");
  out.resize(used);
  return out;
}

}  // namespace graphdbg
