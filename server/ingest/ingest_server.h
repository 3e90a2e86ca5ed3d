// The port that agents dial: graphdbg's own wire (proto/graphdbg/v1) over gRPC.
// Decodes and validates, then hands everything to the session.
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
#include "server/jobs/agent_port.h"

namespace grpc {
class Service;
}

namespace graphdbg::ingest {

// Contents of PEM files.
struct IngestTls {
  std::string certificate;
  std::string key;
  // Empty: agents need no certificate of their own.
  std::string client_authority;
};

struct IngestOptions {
  // Absent: agents come in plain text.
  std::optional<IngestTls> tls;
  // Told to agents and named in messages about versions.
  std::string server_version;
  // Decides about an agent by the token it shows (empty: none) and its
  // address. Called on gRPC's threads, several at once. Empty: all may come.
  std::function<absl::Status(std::string_view bearer_token,
                             std::string_view peer)>
      check_token;
  // Streams at one time; more are refused with RESOURCE_EXHAUSTED.
  uint32_t max_streams = 4'096;
  // Other wires on the same port; they outlive the server.
  std::vector<grpc::Service*> other_wires = {};
};

// Start and Stop are called once each, on one thread. Serves on threads of its
// own; the destructor stops.
class IngestServer {
 public:
  IngestServer(std::shared_ptr<jobs::AgentAcceptor> entrance,
               IngestOptions options);
  ~IngestServer();

  IngestServer(const IngestServer&) = delete;
  IngestServer& operator=(const IngestServer&) = delete;

  // Listens and returns the port, which is a free one for port 0.
  // UNAVAILABLE, naming the address, if it is in use or not ours. The page's
  // address is for agents to tell people; empty: there is none to tell.
  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port,
                                 const std::string& page_address = "");

  // Ends all streams and waits until the last is gone. Agents take it for a
  // server that went away.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_INGEST_SERVER_H_
