#include "agent/core/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"

namespace graphdbg::agent {
namespace {

bool IsLoopbackIpv4(const uint8_t* address) { return address[0] == 127; }

bool IsLoopbackIpv6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return IsLoopbackIpv4(address.s6_addr + 12);
  }
  return IN6_IS_ADDR_LOOPBACK(&address);
}

}  // namespace

bool IsLoopback(const std::string& host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return IsLoopbackIpv4(reinterpret_cast<const uint8_t*>(&v4));
  }
  std::string bare = host;
  if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') {
    bare = bare.substr(1, bare.size() - 2);
  }
  in6_addr v6;
  return inet_pton(AF_INET6, bare.c_str(), &v6) == 1 && IsLoopbackIpv6(v6);
}

}  // namespace graphdbg::agent
