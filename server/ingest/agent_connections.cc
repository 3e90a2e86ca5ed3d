#include "server/ingest/agent_connections.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "proto/wire/limits.h"

namespace graphdbg::ingest {
namespace {

// Agents ping to detect a dead server. gRPC's default limit is 5 minutes.
constexpr int kMinPingIntervalMs = 5'000;
// How long a connection may take to become one of HTTP/2.
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kMaxMetadataBytes = 16 << 10;
constexpr unsigned kCertificateRefreshSeconds = 2;

}  // namespace

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(
    const std::optional<IngestTls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls->key, tls->certificate, tls->client_authority,
          kCertificateRefreshSeconds));
  options.watch_identity_key_cert_pairs();
  if (tls->client_authority.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

void ConfigureForAgents(grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              kHandshakeTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // A paused job sends no messages; its pings keep the connection alive.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingIntervalMs);
  builder->SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
}

}  // namespace graphdbg::ingest
