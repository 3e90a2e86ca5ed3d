// Digests of what agents report, by which they ask whether it is known.
#ifndef SERVER_GRAPH_DIGEST_H_
#define SERVER_GRAPH_DIGEST_H_

#include <string>
#include <string_view>

#include "absl/numeric/int128.h"

namespace graphdbg::graph {

// 0: none.
using Digest = absl::uint128;

// Both in the order of the wire: the first byte is the most significant one.
inline Digest DigestOf(std::string_view bytes) {
  Digest digest = 0;
  if (bytes.size() != sizeof(digest)) return digest;
  for (char byte : bytes) digest = digest << 8 | static_cast<uint8_t>(byte);
  return digest;
}

inline std::string BytesOf(Digest digest) {
  std::string bytes(sizeof(digest), '\0');
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
    *byte = static_cast<char>(absl::Uint128Low64(digest));
    digest >>= 8;
  }
  return bytes;
}

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_DIGEST_H_
