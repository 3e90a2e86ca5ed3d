#include "server/ingest/ingest_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"
#include "proto/wire/limits.h"
#include "server/base/error.h"
#include "server/ingest/address.h"
#include "server/ingest/agent_stream.h"

namespace graphdbg::ingest {
namespace {

constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// Agents ping to notice a dead server; gRPC's own limit is 5 minutes.
constexpr int kMinPingIntervalMs = 5'000;
// How long Stop lets streams end by themselves.
constexpr std::chrono::milliseconds kStopGrace(200);

// The token of "Bearer <token>"; empty if there is none.
std::string BearerToken(const grpc::CallbackServerContext& context) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto& metadata = context.client_metadata();
  auto it = metadata.find("authorization");
  if (it == metadata.end()) return {};
  const std::string_view value(it->second.data(), it->second.size());
  if (value.substr(0, kScheme.size()) != kScheme) return {};
  return std::string(value.substr(kScheme.size()));
}

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(
    const std::optional<IngestTls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls->client_authority.empty()
          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->client_authority;
  options.pem_key_cert_pairs = {{tls->key, tls->certificate}};
  return grpc::SslServerCredentials(options);
}

}  // namespace

class IngestServer::Impl final
    : public v1::AgentService::WithRawCallbackMethod_Session<
          v1::AgentService::Service> {
 public:
  Impl(std::shared_ptr<jobs::AgentAcceptor> entrance, IngestOptions options)
      : options_(std::move(options)),
        shared_(std::make_shared<AgentStream::Shared>()) {
    shared_->entrance = std::move(entrance);
    shared_->names.version = options_.server_version;
  }

  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port,
                                 const std::string& page_address);
  void Stop();

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext* context) override {
    const uint32_t others = shared_->streams.fetch_add(1);
    return AgentStream::Open(shared_, context, Admit(*context, others));
  }

  absl::Status Admit(const grpc::CallbackServerContext& context,
                     uint32_t others) const {
    if (others >= options_.max_streams) {
      return Error(absl::StatusCode::kResourceExhausted, "too_many_streams",
                   absl::StrCat("the server has ", others,
                                " agents, which is all it takes"));
    }
    if (!options_.check_token) return absl::OkStatus();
    return options_.check_token(BearerToken(context), context.peer());
  }

  const IngestOptions options_;
  const std::shared_ptr<AgentStream::Shared> shared_;
  std::unique_ptr<grpc::Server> server_;
};

absl::StatusOr<uint16_t> IngestServer::Impl::Start(
    const std::string& host, uint16_t port, const std::string& page_address) {
  shared_->names.page_address = page_address;
  if (auto can = CheckListen(host, port); !can.ok()) return can;
  // A message that cannot be decoded ends its stream; a line for each would
  // let an agent fill the log.
  google::protobuf::SetLogHandler(nullptr);
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort(JoinHostPort(host, port),
                           CredentialsOf(options_.tls), &bound);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             kKeepaliveTimeoutMs);
  // Pings go on while no message does: a paused job says nothing.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingIntervalMs);
  builder.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  builder.RegisterService(this);
  for (grpc::Service* wire : options_.other_wires) {
    builder.RegisterService(wire);
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || bound == 0) {
    server_.reset();
    return Error(
        absl::StatusCode::kUnavailable, "cannot_listen",
        absl::StrCat("cannot listen for agents on ", JoinHostPort(host, port)));
  }
  return static_cast<uint16_t>(bound);
}

void IngestServer::Impl::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kStopGrace);
  server_->Wait();
  server_.reset();
}

IngestServer::IngestServer(std::shared_ptr<jobs::AgentAcceptor> entrance,
                           IngestOptions options)
    : impl_(std::make_unique<Impl>(std::move(entrance), std::move(options))) {}

IngestServer::~IngestServer() { impl_->Stop(); }

absl::StatusOr<uint16_t> IngestServer::Start(const std::string& host,
                                             uint16_t port,
                                             const std::string& page_address) {
  return impl_->Start(host, port, page_address);
}

void IngestServer::Stop() { impl_->Stop(); }

}  // namespace graphdbg::ingest
