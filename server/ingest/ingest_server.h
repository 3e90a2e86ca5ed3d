// The server for agent connections: graphdbg's own wire (proto/graphdbg/v1)
// over gRPC. Validates and decodes messages and passes them to jobs.
#ifndef SERVER_INGEST_INGEST_SERVER_H_
#define SERVER_INGEST_INGEST_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/ingest/agent_connections.h"
#include "server/ingest/connection_limits.h"
#include "server/jobs/agent_port.h"

namespace grpc {
class Service;
}

namespace graphdbg::ingest {

struct IngestOptions {
  // Absent for connections in plain text.
  std::optional<IngestTls> tls;
  // Sent to agents and named in errors about versions.
  std::string server_version;
  // Admits or refuses an agent by its token (empty: none) and its address,
  // which is "relay:" with the relay's for a rank behind one.
  // Called concurrently on gRPC's threads. Empty: every agent is admitted.
  std::function<absl::Status(std::string_view bearer_token,
                             std::string_view peer)>
      check_token;
  // Limit on open streams. Others are refused with RESOURCE_EXHAUSTED.
  uint32_t max_streams = 4'096;
  // Limit on received bytes in memory, including tensors whose requests are
  // under way. Above it, connections are closed.
  uint64_t max_received_bytes = uint64_t{4} << 30;
  // Limits on open connections. Absent: what the process's limit on descriptors
  // allows when the server starts.
  std::optional<ConnectionLimits> connections;
  // Path of a Unix socket on which the server listens as well; empty for none.
  // The peer of its connections is "unix:", and they are of the same user.
  std::string socket_path;
  // Receives one line for each notable event, on any thread. May be empty.
  std::function<void(std::string_view line)> log;
  // Services of other protocols on the same port. They outlive the server.
  std::vector<grpc::Service*> other_wires = {};
};

// Start and Stop must be called once each, on the same thread. Serves on
// threads of its own. The destructor stops the server.
class IngestServer {
 public:
  IngestServer(std::shared_ptr<jobs::AgentAcceptor> entrance,
               IngestOptions options);
  ~IngestServer();

  IngestServer(const IngestServer&) = delete;
  IngestServer& operator=(const IngestServer&) = delete;

  // Starts to listen and returns the port; port 0 picks a free one. Agents
  // print `page_address` for their users unless it is empty. UNAVAILABLE,
  // naming the address or path, if it is in use or cannot be used.
  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port,
                                 const std::string& page_address = "");

  // Closes all streams and waits until the last one has ended. To agents it
  // looks as if the server had gone away.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_INGEST_SERVER_H_
