// Checks of addresses to listen on.
#ifndef SERVER_INGEST_ADDRESS_H_
#define SERVER_INGEST_ADDRESS_H_

#include <cstdint>
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

// Checks that the server can listen on the address, because gRPC does not
// report why it cannot. UNAVAILABLE names the address and the cause.
absl::Status CheckListen(const std::string& host, uint16_t port);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_ADDRESS_H_
