// How many connections agents may have, in all and from one address.
#ifndef SERVER_INGEST_CONNECTION_LIMITS_H_
#define SERVER_INGEST_CONNECTION_LIMITS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace graphdbg::ingest {

struct ConnectionLimits {
  size_t total = 0;
  // For each address of TCP, so that one machine cannot keep the others out.
  size_t per_address = 0;
};

// Limits that leave more than half of the process's descriptors to its other
// parts, and half of the connections to other addresses.
ConnectionLimits LimitsFor(size_t descriptors);

// The process's limit on descriptors, at present.
size_t DescriptorLimit();

// The connections that were accepted and are still open. Another part of the
// program owns and closes them. Used by one thread.
class OpenConnections {
 public:
  explicit OpenConnections(ConnectionLimits limits) : limits_(limits) {}

  // Returns false, and does not add the connection, at the limit. `address` is
  // empty for connections that count against the total only.
  bool Add(int fd, std::string address);

 private:
  struct Connection {
    int fd;
    // Identifies the socket: its descriptor is used again once it is closed.
    ino_t inode;
    std::string address;
  };

  bool HasRoomFor(const std::string& address) const;
  void RemoveClosed();

  const ConnectionLimits limits_;
  std::vector<Connection> connections_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_CONNECTION_LIMITS_H_
