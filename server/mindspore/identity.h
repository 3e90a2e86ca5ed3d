// Who a client is. The wire has no name for it: only what it says of its
// device, and where it calls from.
#ifndef SERVER_MINDSPORE_IDENTITY_H_
#define SERVER_MINDSPORE_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

struct Identity {
  // The address without port, "127.0.0.1".
  std::string host;
  // The number before the colon of its device name.
  std::string device;
  std::string backend;

  bool operator==(const Identity&) const = default;
};

// `peer` as gRPC has it, "ipv4:127.0.0.1:40000".
Identity IdentityOf(const debugger::Metadata& metadata, std::string_view peer);

// "127.0.0.1:40000", "[::1]:40000".
std::string AddressOf(std::string_view peer);
// "127.0.0.1", "::1".
std::string HostOf(std::string_view peer);
// By a socket of this machine's file system.
bool IsLocal(std::string_view peer);

// A job's id; printable, without slashes.
std::string JobNameOf(const Identity& identity);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_IDENTITY_H_
