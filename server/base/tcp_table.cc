#include "server/base/tcp_table.h"

#include <arpa/inet.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/string_views.h"

namespace graphdbg {
namespace {

constexpr absl::string_view kEstablished = "01";
constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};

struct Endpoint {
  std::string text;
  uint16_t port = 0;
};

// Parses "0100007F:9C40": the words of the address in the machine's byte order,
// and the port.
std::optional<Endpoint> ParseEndpoint(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  uint32_t port = 0;
  if (parts.size() != 2 || !absl::SimpleHexAtoi(parts[1], &port) ||
      port > UINT16_MAX) {
    return std::nullopt;
  }
  unsigned char bytes[16] = {};
  const size_t words = parts[0].size() / 8;
  if (words != 1 && words != 4) return std::nullopt;
  for (size_t i = 0; i < words; ++i) {
    uint32_t word = 0;
    if (!absl::SimpleHexAtoi(parts[0].substr(8 * i, 8), &word)) {
      return std::nullopt;
    }
    std::memcpy(bytes + 4 * i, &word, sizeof(word));
  }
  const bool mapped =
      words == 4 && std::memcmp(bytes, kMapped, sizeof(kMapped)) == 0;
  const bool v4 = words == 1 || mapped;
  char written[INET6_ADDRSTRLEN] = {};
  inet_ntop(v4 ? AF_INET : AF_INET6, mapped ? bytes + 12 : bytes, written,
            sizeof(written));
  return Endpoint{v4 ? absl::StrCat(written, ":", port)
                     : absl::StrCat("[", written, "]:", port),
                  static_cast<uint16_t>(port)};
}

// The fields of a line are: number, local endpoint, remote endpoint, state,
// queues, timer, retransmissions, user, timeout, inode, ...
std::optional<TcpSocket> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (fields.size() < 10 || fields[3] != kEstablished) return std::nullopt;
  auto local = ParseEndpoint(fields[1]);
  auto remote = ParseEndpoint(fields[2]);
  TcpSocket socket;
  if (!local || !remote || !absl::SimpleAtoi(fields[7], &socket.user) ||
      !absl::SimpleAtoi(fields[9], &socket.inode)) {
    return std::nullopt;
  }
  socket.local = std::move(local->text);
  socket.remote = std::move(remote->text);
  socket.remote_port = remote->port;
  return socket;
}

}  // namespace

std::vector<TcpSocket> EstablishedSockets(std::string_view table) {
  std::vector<TcpSocket> sockets;
  for (absl::string_view line : absl::StrSplit(ToAbsl(table), '\n')) {
    if (auto socket = ParseLine(line)) sockets.push_back(*std::move(socket));
  }
  return sockets;
}

std::optional<std::vector<TcpSocket>> EstablishedSockets() {
  std::vector<TcpSocket> all;
  bool read = false;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    if (!file) continue;
    read = true;
    auto sockets = EstablishedSockets(
        std::string(std::istreambuf_iterator<char>(file), {}));
    all.insert(all.end(), std::make_move_iterator(sockets.begin()),
               std::make_move_iterator(sockets.end()));
  }
  if (!read) return std::nullopt;
  return all;
}

}  // namespace graphdbg
