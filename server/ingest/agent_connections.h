// How agents' connections are made secure and kept alive, on the server and on
// relays.
#ifndef SERVER_INGEST_AGENT_CONNECTIONS_H_
#define SERVER_INGEST_AGENT_CONNECTIONS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

namespace graphdbg::ingest {

// The sum of these is the time after which an agent is lost whose machine has
// gone, or whose process has stopped to run.
inline constexpr int kKeepaliveMs = 10'000;
inline constexpr int kKeepaliveTimeoutMs = 5'000;
// Agents open one stream on a connection, relays several. MindSpore's clients
// call in turn.
inline constexpr int kMaxStreamsPerConnection = 16;

// Metadata of a stream that a relay passes on.
inline constexpr char kRelayedHeader[] = "graphdbg-relay";

// Names of PEM files, which are read again when they change.
struct IngestTls {
  std::string certificate;
  std::string key;
  // Empty if agents need no certificate of their own.
  std::string client_authority;
};

// In plain text without `tls`.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(
    const std::optional<IngestTls>& tls);

// Limits of connections and messages, and keepalive in both directions.
void ConfigureForAgents(grpc::ServerBuilder* builder);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_AGENT_CONNECTIONS_H_
