#include "server/mindspore/identity.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/utf8.h"

namespace graphdbg::mindspore {
namespace {

constexpr size_t kMaxWordBytes = 64;

// Replaces characters that are not suitable for ids and file names with "_".
std::string Plain(std::string_view text) {
  std::string word = wire::ToValidUtf8(
      absl::string_view(text.data(), text.size()), kMaxWordBytes);
  for (char& c : word) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' &&
        c != '.' && c != ':') {
      c = '_';
    }
  }
  return word;
}

bool IsLoopbackHost(const std::string& host) {
  return absl::StartsWith(host, "127.") || host == "::1" ||
         absl::StartsWith(host, "::ffff:127.");
}

}  // namespace

std::string AddressOf(std::string_view peer) {
  for (std::string_view family : {"ipv4:", "ipv6:"}) {
    if (peer.substr(0, family.size()) == family) {
      return std::string(peer.substr(family.size()));
    }
  }
  return std::string(peer);
}

std::string HostOf(std::string_view peer) {
  std::string host = AddressOf(peer);
  host.resize(std::min(host.size(), host.rfind(':')));
  // Depending on its version, gRPC percent-encodes the brackets.
  for (const char* open : {"[", "%5B"}) {
    if (absl::StartsWith(host, open)) host = host.substr(strlen(open));
  }
  for (const char* close : {"]", "%5D"}) {
    if (absl::EndsWith(host, close)) host.resize(host.size() - strlen(close));
  }
  return host;
}

bool IsLocal(std::string_view peer) { return peer.substr(0, 5) == "unix:"; }

Identity IdentityOf(const debugger::Metadata& metadata, std::string_view peer) {
  Identity identity;
  identity.host = HostOf(peer);
  const std::string& name = metadata.device_name();
  identity.device = Plain(name.substr(0, name.find(':')));
  identity.backend =
      metadata.backend().empty() ? "Ascend" : Plain(metadata.backend());
  return identity;
}

std::string JobNameOf(const Identity& identity) {
  std::string name = absl::StrCat(
      "mindspore-", identity.device.empty() ? "0" : identity.device);
  if (!IsLoopbackHost(identity.host)) {
    absl::StrAppend(&name, "@", Plain(identity.host));
  }
  return name;
}

}  // namespace graphdbg::mindspore
