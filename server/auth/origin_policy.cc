#include "server/auth/origin_policy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace graphdbg::auth {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string_view HostOf(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    std::string_view rest = host.substr(end + 1);
    bool well_formed =
        rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1)));
    return well_formed ? host.substr(1, end - 1) : std::string_view();
  }
  size_t colon = host.find(':');
  if (colon == std::string_view::npos) return host;
  return IsPort(host.substr(colon + 1)) ? host.substr(0, colon)
                                        : std::string_view();
}

bool IsLoopbackName(std::string_view host) {
  std::string name = Lower(host);
  if (name == "localhost" || name == "localhost.") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, name.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return true;
  return IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127;
}

bool IsLoopbackHostHeader(std::string_view host) {
  return IsLoopbackName(HostOf(host));
}

bool IsSameOrigin(std::string_view origin, std::string_view host, bool https) {
  return Lower(origin) == (https ? "https://" : "http://") + Lower(host);
}

bool IsLoopbackPeer(std::string_view peer) {
  if (peer.substr(0, 5) == "unix:") return true;
  std::string address = Lower(peer);
  if (address.substr(0, 5) == "ipv4:") {
    return IsLoopbackHostHeader(address.substr(5));
  }
  if (address.substr(0, 5) != "ipv6:") return false;
  address = address.substr(5);
  for (const auto& [code, bracket] : {std::pair("%5b", "["), {"%5d", "]"}}) {
    size_t at = address.find(code);
    if (at != std::string::npos) address.replace(at, 3, bracket);
  }
  return IsLoopbackHostHeader(address);
}

}  // namespace graphdbg::auth
