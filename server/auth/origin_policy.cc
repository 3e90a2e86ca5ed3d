#include "server/auth/origin_policy.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/base/string_views.h"

namespace graphdbg::auth {
namespace {

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

std::optional<uint16_t> PortOf(std::string_view host) {
  // The colons of an IPv6 address are within brackets.
  const size_t bracket = host.rfind(']');
  const size_t colon =
      host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view text = host.substr(colon + 1);
  uint32_t port = 0;
  if (!IsPort(text) || !absl::SimpleAtoi(ToAbsl(text), &port) ||
      port > UINT16_MAX) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(port);
}

bool IsLoopbackName(std::string_view host) {
  const std::string name = absl::AsciiStrToLower(ToAbsl(host));
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
  absl::string_view rest = ToAbsl(origin);
  const absl::string_view scheme = https ? "https://" : "http://";
  if (!absl::StartsWithIgnoreCase(rest, scheme)) return false;
  rest.remove_prefix(scheme.size());
  return absl::EqualsIgnoreCase(rest, ToAbsl(host));
}

bool IsLoopbackPeer(std::string_view peer) {
  if (absl::StartsWith(ToAbsl(peer), "unix:")) return true;
  const std::string lower = absl::AsciiStrToLower(ToAbsl(peer));
  absl::string_view address = lower;
  if (absl::ConsumePrefix(&address, "ipv4:")) {
    return IsLoopbackHostHeader(ToStd(address));
  }
  if (!absl::ConsumePrefix(&address, "ipv6:")) return false;
  return IsLoopbackHostHeader(
      absl::StrReplaceAll(address, {{"%5b", "["}, {"%5d", "]"}}));
}

}  // namespace graphdbg::auth
