#include "server/ingest/ingest_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/ingest/address.h"
#include "server/ingest/agent_stream.h"
#include "server/ingest/connection_acceptor.h"
#include "server/ingest/listening_socket.h"

namespace graphdbg::ingest {
namespace {

// How long Stop waits for streams to end by themselves.
constexpr std::chrono::milliseconds kStopGrace(200);

// A deadline that changes of the wall clock do not move.
gpr_timespec FromNow(std::chrono::milliseconds delay) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(delay.count(), GPR_TIMESPAN));
}

// The agent's address. Behind a relay it is not known: whoever dials a relay of
// this machine must not pass for the relay's user, who needs no token here.
std::string AdmittedPeer(const grpc::CallbackServerContext& context) {
  const bool relayed = context.client_metadata().count(kRelayedHeader) > 0;
  return relayed ? absl::StrCat("relay:", context.peer()) : context.peer();
}

// The token in "Bearer <token>"; empty if the header is missing.
std::string BearerToken(const grpc::CallbackServerContext& context) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto& metadata = context.client_metadata();
  auto it = metadata.find("authorization");
  if (it == metadata.end()) return {};
  const std::string_view value(it->second.data(), it->second.size());
  if (value.substr(0, kScheme.size()) != kScheme) return {};
  return std::string(value.substr(kScheme.size()));
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
    shared_->server_info.version = options_.server_version;
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
                   absl::StrCat("the server is connected to ", others,
                                " agents, which is its limit"));
    }
    if (!options_.check_token) return absl::OkStatus();
    return options_.check_token(BearerToken(context), AdmittedPeer(context));
  }

  void Configure(grpc::ServerBuilder& builder);
  // Passes connections on to gRPC, which cannot limit their number.
  void Accept(std::vector<ListeningSocket> sockets);

  const IngestOptions options_;
  const std::shared_ptr<AgentStream::Shared> shared_;
  using Entrance = grpc::experimental::ExternalConnectionAcceptor;
  std::unique_ptr<Entrance> tcp_entrance_;
  std::unique_ptr<Entrance> unix_entrance_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
};

void IngestServer::Impl::Configure(grpc::ServerBuilder& builder) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  tcp_entrance_ = builder.experimental().AddExternalConnectionAcceptor(
      Type::FROM_FD, CredentialsOf(options_.tls));
  unix_entrance_ = builder.experimental().AddExternalConnectionAcceptor(
      Type::FROM_FD, grpc::InsecureServerCredentials());
  ConfigureForAgents(&builder);
  builder.SetResourceQuota(
      grpc::ResourceQuota("agents").Resize(options_.max_received_bytes));
  builder.RegisterService(this);
  for (grpc::Service* wire : options_.other_wires) {
    builder.RegisterService(wire);
  }
}

void IngestServer::Impl::Accept(std::vector<ListeningSocket> sockets) {
  std::set<int> unix_fds;
  for (const ListeningSocket& socket : sockets) {
    if (socket.is_unix()) unix_fds.insert(socket.fd());
  }
  acceptor_ = std::make_unique<ConnectionAcceptor>(
      std::move(sockets),
      options_.connections.value_or(LimitsFor(DescriptorLimit())),
      [this, unix_fds = std::move(unix_fds)](int listening_fd, int fd) {
        Entrance::NewConnectionParameters connection;
        connection.listener_fd = listening_fd;
        connection.fd = fd;
        const bool is_unix = unix_fds.count(listening_fd) > 0;
        (is_unix ? unix_entrance_ : tcp_entrance_)
            ->HandleNewConnection(&connection);
      },
      options_.log);
}

absl::StatusOr<uint16_t> IngestServer::Impl::Start(
    const std::string& host, uint16_t port, const std::string& page_address) {
  shared_->server_info.page_address = page_address;
  ASSIGN_OR_RETURN(std::vector<ListeningSocket> sockets,
                   ListeningSocket::OpenTcp(host, port));
  const uint16_t bound = sockets[0].port();
  if (!options_.socket_path.empty()) {
    ASSIGN_OR_RETURN(ListeningSocket socket,
                     ListeningSocket::OpenUnix(options_.socket_path));
    sockets.push_back(std::move(socket));
  }
  // Protobuf logs every message that it cannot decode, which would let an agent
  // fill the log. Such a message ends its stream anyway.
  google::protobuf::SetLogHandler(nullptr);
  grpc::ServerBuilder builder;
  Configure(builder);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return CannotListen(host, port, "gRPC cannot start");
  }
  Accept(std::move(sockets));
  return bound;
}

void IngestServer::Impl::Stop() {
  if (server_ == nullptr) return;
  acceptor_.reset();
  server_->Shutdown(FromNow(kStopGrace));
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
