#include "server/mindspore/connections.h"

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphdbg::mindspore {
namespace {

constexpr absl::string_view kEstablished = "01";
constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};

// Parses "0100007F:9C40": the words of the address in the machine's byte order,
// and the port. Empty if the text is malformed.
std::string Address(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  uint32_t port = 0;
  if (parts.size() != 2 || !absl::SimpleHexAtoi(parts[1], &port)) return {};
  unsigned char bytes[16] = {};
  const size_t words = parts[0].size() / 8;
  if (words != 1 && words != 4) return {};
  for (size_t i = 0; i < words; ++i) {
    uint32_t word = 0;
    if (!absl::SimpleHexAtoi(parts[0].substr(8 * i, 8), &word)) return {};
    std::memcpy(bytes + 4 * i, &word, sizeof(word));
  }
  const bool mapped =
      words == 4 && std::memcmp(bytes, kMapped, sizeof(kMapped)) == 0;
  const bool v4 = words == 1 || mapped;
  char written[INET6_ADDRSTRLEN] = {};
  inet_ntop(v4 ? AF_INET : AF_INET6, mapped ? bytes + 12 : bytes, written,
            sizeof(written));
  return v4 ? absl::StrCat(written, ":", port)
            : absl::StrCat("[", written, "]:", port);
}

}  // namespace

std::set<std::string> RemoteEndpoints(std::string_view table) {
  std::set<std::string> ends;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(table.data(), table.size()), '\n')) {
    // Number, local endpoint, remote endpoint, state, ...
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 4 || fields[3] != kEstablished) continue;
    std::string end = Address(fields[2]);
    if (!end.empty()) ends.insert(std::move(end));
  }
  return ends;
}

std::optional<std::set<std::string>> EstablishedConnections() {
  std::set<std::string> all;
  bool read = false;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    if (!file) continue;
    read = true;
    all.merge(
        RemoteEndpoints(std::string(std::istreambuf_iterator<char>(file), {})));
  }
  if (!read) return std::nullopt;
  return all;
}

}  // namespace graphdbg::mindspore
