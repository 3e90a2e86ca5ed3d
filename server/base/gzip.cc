#include "server/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"

namespace graphdbg {
namespace {

// The largest window, with a gzip header.
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;
constexpr int kFastest = 1;
constexpr size_t kChunkBytes = 256 << 10;

// Passes the next part of the input to zlib, which counts bytes in 32 bits.
void Feed(z_stream& stream, std::string_view& rest) {
  if (stream.avail_in != 0) return;
  const size_t size =
      std::min<size_t>(rest.size(), std::numeric_limits<uInt>::max());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
  stream.avail_in = static_cast<uInt>(size);
  rest.remove_prefix(size);
}

void MakeRoom(z_stream& stream, std::string& out, size_t used) {
  out.resize(used + kChunkBytes);
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
  stream.avail_out = static_cast<uInt>(kChunkBytes);
}

}  // namespace

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, kFastest, Z_DEFLATED, kGzipWindow, kMemoryLevel,
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
    return absl::InvalidArgumentError(absl::StrCat(
        "the gzip data expands to more than ", max_bytes, " bytes"));
  }
  if (state != Z_STREAM_END)
    return absl::InvalidArgumentError("invalid gzip data");
  out.resize(used);
  return out;
}

}  // namespace graphdbg
