#include "server/ingest/address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::ingest {
namespace {

// Returns 0 or an errno.
int TryBind(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int error = bind(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == 0 && listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

}  // namespace

std::string JoinHostPort(const std::string& host, uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos && host.front() != '[';
  return v6 ? absl::StrCat("[", host, "]:", port)
            : absl::StrCat(host, ":", port);
}

std::string WithoutBrackets(const std::string& host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return host;
  return host.substr(1, host.size() - 2);
}

absl::Status CannotListen(const std::string& host, uint16_t port,
                          const std::string& why) {
  return Error(absl::StatusCode::kUnavailable, "cannot_listen",
               absl::StrCat("cannot listen for agents on ",
                            JoinHostPort(host, port), ": ", why));
}

std::string ExplainBindError(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program uses the port";
    case EADDRNOTAVAIL:
      return "this machine has no such address";
    case EACCES:
      return "permission denied";
    default:
      return std::strerror(error);
  }
}

absl::Status ForEachAddress(
    const std::string& host, uint16_t port,
    const std::function<int(addrinfo& address)>& listen_on) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(WithoutBrackets(host).c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return CannotListen(host, port, gai_strerror(failed));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  int result = EADDRNOTAVAIL;
  for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int error = listen_on(*each);
    // A host name may have addresses of families that this machine lacks.
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) continue;
    result = error;
    if (error != 0) break;
  }
  return result == 0 ? absl::OkStatus()
                     : CannotListen(host, port, ExplainBindError(result));
}

absl::Status CheckListen(const std::string& host, uint16_t port) {
  return ForEachAddress(host, port, TryBind);
}

}  // namespace graphdbg::ingest
