// The identity of a client. The protocol has no explicit one, so it consists of
// the client's device and host.
#ifndef SERVER_MINDSPORE_IDENTITY_H_
#define SERVER_MINDSPORE_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

struct Identity {
  // The address without port: "127.0.0.1".
  std::string host;
  // The number before the colon in the device name.
  std::string device;
  std::string backend;

  bool operator==(const Identity&) const = default;
};

// `peer` is in gRPC's format: "ipv4:127.0.0.1:40000".
Identity IdentityOf(const debugger::Metadata& metadata, std::string_view peer);

// Returns "127.0.0.1:40000" or "[::1]:40000".
std::string AddressOf(std::string_view peer);
// Returns "127.0.0.1" or "::1".
std::string HostOf(std::string_view peer);
// Whether the peer is connected through a Unix domain socket.
bool IsLocal(std::string_view peer);

// The id of the client's job. Printable, without slashes.
std::string JobNameOf(const Identity& identity);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_IDENTITY_H_
