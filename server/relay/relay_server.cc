#include "server/relay/relay_server.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "proto/graphdbg/v1/agent_service.grpc.pb.h"
#include "proto/wire/status_macros.h"
#include "server/ingest/address.h"
#include "server/relay/relayed_stream.h"

namespace graphdbg::relay {

class RelayServer::Impl final
    : public v1::AgentService::WithRawCallbackMethod_Session<
          v1::AgentService::Service> {
 public:
  explicit Impl(RelayOptions options)
      : options_(std::move(options)),
        upstream_(std::make_shared<Upstream>(
            options_.upstream, options_.upstream_tls, options_.log)) {}

  ~Impl() override {
    // At once: to ranks it looks as if the server had gone away.
    if (server_ != nullptr) server_->Shutdown(gpr_now(GPR_CLOCK_MONOTONIC));
  }

  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port) {
    RETURN_IF_ERROR(ingest::CheckListen(host, port));
    grpc::ServerBuilder builder;
    ingest::ConfigureForAgents(&builder);
    int bound = 0;
    builder.AddListeningPort(ingest::JoinHostPort(host, port),
                             ingest::CredentialsOf(options_.tls), &bound);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) {
      return ingest::CannotListen(host, port, "gRPC cannot start");
    }
    return static_cast<uint16_t>(bound);
  }

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext* context) override {
    return RelayedStream::Open(upstream_, options_.progress_interval, *context);
  }

  const RelayOptions options_;
  const std::shared_ptr<Upstream> upstream_;
  std::unique_ptr<grpc::Server> server_;
};

RelayServer::RelayServer(RelayOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

RelayServer::~RelayServer() = default;

absl::StatusOr<uint16_t> RelayServer::Start(const std::string& host,
                                            uint16_t port) {
  return impl_->Start(host, port);
}

}  // namespace graphdbg::relay
