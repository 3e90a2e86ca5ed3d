#include "server/auth/peer_user.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/base/string_views.h"
#include "server/base/tcp_table.h"

namespace graphdbg::auth {
namespace {

// Formats an address like TcpSocket: without the family and with plain
// brackets, and an IPv4-mapped address as IPv4.
std::string EndpointOf(std::string_view peer) {
  std::string text = absl::StrReplaceAll(
      ToAbsl(peer), {{"%5B", "["}, {"%5D", "]"}, {"%5b", "["}, {"%5d", "]"}});
  absl::string_view endpoint = text;
  if (!absl::ConsumePrefix(&endpoint, "ipv4:")) {
    absl::ConsumePrefix(&endpoint, "ipv6:");
  }
  constexpr absl::string_view kMapped = "[::ffff:";
  if (absl::StartsWithIgnoreCase(endpoint, kMapped) &&
      absl::StrContains(endpoint, '.')) {
    endpoint.remove_prefix(kMapped.size());
    return absl::StrReplaceAll(endpoint, {{"]", ""}});
  }
  return std::string(endpoint);
}

}  // namespace

absl::StatusOr<uid_t> UserOfPeer(std::string_view peer,
                                 const std::vector<uint16_t>& server_ports) {
  const auto sockets = EstablishedSockets();
  if (!sockets) {
    return absl::UnavailableError(
        "the system does not list connections in /proc/net/tcp");
  }
  const std::string client = EndpointOf(peer);
  std::optional<uid_t> user;
  for (const TcpSocket& socket : *sockets) {
    // A socket without a process belongs to user 0 according to the kernel.
    if (socket.local != client || socket.inode == 0 ||
        std::count(server_ports.begin(), server_ports.end(),
                   socket.remote_port) == 0) {
      continue;
    }
    if (user && *user != socket.user) {
      return absl::FailedPreconditionError(
          absl::StrCat("sockets of several users have the address ", client));
    }
    user = socket.user;
  }
  if (!user) {
    return absl::NotFoundError(
        absl::StrCat("no process of this machine has the address ", client));
  }
  return *user;
}

}  // namespace graphdbg::auth
