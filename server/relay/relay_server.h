// Stands for the server on a host: its ranks dial the relay, which passes their
// streams on over few connections.
#ifndef SERVER_RELAY_RELAY_SERVER_H_
#define SERVER_RELAY_RELAY_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/ingest/agent_connections.h"
#include "server/relay/upstream.h"

namespace graphdbg::relay {

struct RelayOptions {
  // The server's address for agents, "host:port".
  std::string upstream;
  // Absent for a connection in plain text.
  std::optional<UpstreamTls> upstream_tls;
  // Absent for ranks that connect in plain text.
  std::optional<ingest::IngestTls> tls;
  // How often a rank's progress is passed on at most.
  std::chrono::milliseconds progress_interval{100};
  // Receives one line for each notable event, on any thread. May be empty.
  std::function<void(std::string_view line)> log;
};

// To the server, a relay that ends is a host that is lost: its ranks train on,
// and connect again when the relay is back. The server authenticates ranks; the
// relay passes their tokens on. Start must be called once. Serves on threads of
// its own; the destructor closes all streams.
class RelayServer {
 public:
  explicit RelayServer(RelayOptions options);
  ~RelayServer();

  RelayServer(const RelayServer&) = delete;
  RelayServer& operator=(const RelayServer&) = delete;

  // Starts to listen and returns the port; port 0 picks a free one.
  // UNAVAILABLE, naming the address, if it is in use or cannot be used.
  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::relay

#endif  // SERVER_RELAY_RELAY_SERVER_H_
