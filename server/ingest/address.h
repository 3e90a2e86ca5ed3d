// Addresses to listen on.
#ifndef SERVER_INGEST_ADDRESS_H_
#define SERVER_INGEST_ADDRESS_H_

#include <netdb.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::ingest {

// "127.0.0.1:50051", "[::1]:50051".
std::string JoinHostPort(const std::string& host, uint16_t port);

// "::1" for "[::1]"; other hosts as they are.
std::string WithoutBrackets(const std::string& host);

// UNAVAILABLE "cannot_listen".
absl::Status CannotListen(const std::string& host, uint16_t port,
                          const std::string& why);

// Why bind() or listen() failed with this errno.
std::string ExplainBindError(int error);

// Calls `listen_on` for every address of the host, with the port; it returns 0
// or an errno. Addresses that this machine does not have are passed over, and
// the first other error ends the loop. UNAVAILABLE "cannot_listen" after such
// an error, if the host has no address, or if this machine has none of them.
absl::Status ForEachAddress(
    const std::string& host, uint16_t port,
    const std::function<int(addrinfo& address)>& listen_on);

// Checks that the server can listen on the address, because gRPC does not
// report why it cannot. UNAVAILABLE names the address and the cause.
absl::Status CheckListen(const std::string& host, uint16_t port);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_ADDRESS_H_
