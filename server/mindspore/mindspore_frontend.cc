#include "server/mindspore/mindspore_frontend.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/mindspore/debugger.grpc.pb.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/base/steady_flag.h"
#include "server/ingest/address.h"
#include "server/mindspore/graph_assembly.h"
#include "server/mindspore/registry.h"
#include "server/mindspore/stream_reader.h"

namespace graphdbg::mindspore {
namespace {

using grpc::CallbackServerContext;

// One more than the protocol keeps, so that the job's log reports the excess.
constexpr size_t kMaxHitsPerCall = ClientProtocol::kMaxHits + 1;
constexpr int kMaxHeartbeatSeconds = 86'400;
constexpr size_t kMaxRejectedHosts = 1'000;

absl::Status NotAllowed(std::string_view peer, const absl::Status& reason) {
  if (!reason.ok()) {
    return Error(
        absl::StatusCode::kPermissionDenied, "peer_not_allowed",
        absl::StrCat("MindSpore jobs of other users of this machine are not "
                     "allowed, because MindSpore's protocol has no "
                     "authentication: ",
                     reason.message()));
  }
  return Error(
      absl::StatusCode::kPermissionDenied, "peer_not_allowed",
      absl::StrCat("MindSpore jobs from ", HostOf(peer),
                   " are not allowed, because MindSpore's protocol has no "
                   "authentication; add the address to --mindspore-allow"));
}

grpc::Status ToGrpc(const absl::Status& status) {
  const absl::string_view message = status.message();
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(message.data(), message.size()));
}

int64_t SystemUnixNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t SteadyNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

class MindSporeFrontend::Impl final
    : public debugger::EventListener::CallbackService {
 public:
  Impl(std::shared_ptr<jobs::AgentAcceptor> acceptor, FrontendOptions options);
  ~Impl() override;

  absl::StatusOr<uint16_t> Listen(const std::string& host, uint16_t port);
  uint64_t stored_bytes() const { return shared_->files->bytes(); }
  void StopSaving() { shared_->files->Close(); }

 private:
  using Reply = debugger::EventReply;
  template <class Message>
  using Reader = grpc::ServerReadReactor<Message>;

  grpc::ServerUnaryReactor* SendMetadata(CallbackServerContext* context,
                                         const debugger::Metadata* metadata,
                                         Reply* reply) override;
  grpc::ServerUnaryReactor* WaitCMD(CallbackServerContext* context,
                                    const debugger::Metadata* metadata,
                                    Reply* reply) override;
  grpc::ServerUnaryReactor* SendHeartbeat(CallbackServerContext* context,
                                          const debugger::Heartbeat* beat,
                                          Reply* reply) override;
  Reader<debugger::Chunk>* SendGraph(CallbackServerContext* context,
                                     Reply* reply) override;
  Reader<debugger::Chunk>* SendMultiGraphs(CallbackServerContext* context,
                                           Reply* reply) override;
  Reader<debugger::TensorProto>* SendTensors(CallbackServerContext* context,
                                             Reply* reply) override;
  Reader<debugger::TensorBase>* SendTensorBase(CallbackServerContext* context,
                                               Reply* reply) override;
  Reader<debugger::TensorSummary>* SendTensorStats(
      CallbackServerContext* context, Reply* reply) override;
  Reader<debugger::WatchpointHit>* SendWatchpointHits(
      CallbackServerContext* context, Reply* reply) override;

  // Passes each message, with its position, to the connection's tensor fetcher.
  template <class Message, class Take>
  Reader<Message>* ReadTensors(CallbackServerContext* context, Take take);
  // Returns a reader that rejects the stream if the peer is not allowed.
  template <class Message>
  StreamReader<Message>* Read(
      CallbackServerContext* context,
      typename StreamReader<Message>::OnMessage on_message,
      typename StreamReader<Message>::OnEnd on_end);
  void SweepUntilStopped();
  // Checks whether the peer may connect.
  absl::Status Check(const std::string& peer) ABSL_LOCKS_EXCLUDED(mu_);

  const FrontendOptions options_;
  const std::shared_ptr<const ClientConnection::Shared> shared_;
  Registry registry_;
  std::unique_ptr<grpc::Server> listener_;
  absl::Mutex mu_;
  // Hosts whose rejection has been logged.
  std::set<std::string> rejected_ ABSL_GUARDED_BY(mu_);
  SteadyFlag stop_;
  std::thread sweeper_;
};

namespace {

FrontendOptions WithDefaults(FrontendOptions options) {
  if (!options.now_unix_nano) options.now_unix_nano = SystemUnixNano;
  if (!options.steady_nano) options.steady_nano = SteadyNano;
  return options;
}

std::shared_ptr<const ClientConnection::Shared> SharedOf(
    std::shared_ptr<jobs::AgentAcceptor> acceptor,
    const FrontendOptions& options) {
  auto shared = std::make_shared<ClientConnection::Shared>();
  shared->acceptor = std::move(acceptor);
  shared->now_unix_nano = options.now_unix_nano;
  shared->steady_nano = options.steady_nano;
  shared->log = options.log;
  shared->refresh = options.refresh;
  shared->memory = options.memory;
  shared->files = std::make_shared<ClientFiles>(options.state_dir, options.log,
                                                options.state_limits);
  return shared;
}

}  // namespace

MindSporeFrontend::Impl::Impl(std::shared_ptr<jobs::AgentAcceptor> acceptor,
                              FrontendOptions options)
    : options_(WithDefaults(std::move(options))),
      shared_(SharedOf(std::move(acceptor), options_)),
      registry_(shared_),
      sweeper_([this] { SweepUntilStopped(); }) {}

MindSporeFrontend::Impl::~Impl() {
  // Ends the wait-for-command calls.
  if (listener_) listener_->Shutdown(std::chrono::system_clock::now());
  if (listener_) listener_->Wait();
  stop_.Set();
  sweeper_.join();
}

void MindSporeFrontend::Impl::SweepUntilStopped() {
  while (!stop_.WaitFor(std::min(options_.sweep, options_.refresh))) {
    registry_.Sweep();
    if (options_.disk_is_full && options_.disk_is_full()) {
      registry_.DiscardOldest();
    }
  }
}

absl::StatusOr<uint16_t> MindSporeFrontend::Impl::Listen(
    const std::string& host, uint16_t port) {
  RETURN_IF_ERROR(ingest::CheckListen(host, port));
  const std::string address = ingest::JoinHostPort(host, port);
  int bound = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &bound);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Several servers may use the service, because all its methods are callbacks.
  builder.RegisterService(this);
  listener_ = builder.BuildAndStart();
  if (listener_ != nullptr && bound != 0) return static_cast<uint16_t>(bound);
  listener_.reset();
  return Error(absl::StatusCode::kUnavailable, "cannot_listen",
               absl::StrCat("cannot listen for MindSpore jobs on ", address));
}

absl::Status MindSporeFrontend::Impl::Check(const std::string& peer) {
  absl::Status reason;
  // An empty list allows this machine only.
  if (IsLocal(peer) || AllowList().Allows(HostOf(peer))) {
    if (options_.check_local) reason = options_.check_local(peer);
    if (reason.ok()) return reason;
  } else if (options_.allow.Allows(HostOf(peer))) {
    return absl::OkStatus();
  }
  const absl::Status rejection = NotAllowed(peer, reason);
  absl::MutexLock lock(&mu_);
  // Log each host once, up to a limit.
  const bool is_new = rejected_.size() < kMaxRejectedHosts &&
                      rejected_.insert(HostOf(peer)).second;
  if (is_new && options_.log) {
    options_.log({rejection.message().data(), rejection.message().size()});
  }
  return rejection;
}

grpc::ServerUnaryReactor* MindSporeFrontend::Impl::SendMetadata(
    CallbackServerContext* context, const debugger::Metadata* metadata,
    Reply* reply) {
  auto* reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  if (auto allowed = Check(peer); !allowed.ok()) {
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }
  if (metadata->training_done()) {
    registry_.GetOrReconnect(peer, *metadata)->OnDone(*metadata);
  } else {
    registry_.GetForMetadata(peer)->OnMetadata(*metadata);
    // Clients of release 1.1 and later exit without this field; older ones
    // ignore it.
    reply->set_version_matched(true);
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* MindSporeFrontend::Impl::WaitCMD(
    CallbackServerContext* context, const debugger::Metadata* metadata,
    Reply* reply) {
  const std::string peer = context->peer();
  if (auto allowed = Check(peer); !allowed.ok()) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }
  auto connection = registry_.GetOrReconnect(peer, *metadata);
  auto call = WaitCall::Open(
      reply, [connection](WaitCall* c) { connection->OnWaitCancelled(c); });
  connection->OnWait(call, *metadata);
  return call.get();
}

grpc::ServerUnaryReactor* MindSporeFrontend::Impl::SendHeartbeat(
    CallbackServerContext* context, const debugger::Heartbeat* beat, Reply*) {
  auto* reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  const auto allowed = Check(peer);
  if (allowed.ok() && beat->period() > 0) {
    registry_.Get(peer)->OnHeartbeat(
        std::chrono::seconds(std::min(beat->period(), kMaxHeartbeatSeconds)));
  }
  reactor->Finish(ToGrpc(allowed));
  return reactor;
}

template <class Message>
StreamReader<Message>* MindSporeFrontend::Impl::Read(
    CallbackServerContext* context,
    typename StreamReader<Message>::OnMessage on_message,
    typename StreamReader<Message>::OnEnd on_end) {
  const absl::Status allowed = Check(context->peer());
  if (!allowed.ok()) {
    on_message = [allowed](Message&) { return allowed; };
    on_end = [allowed] { return allowed; };
  }
  return new StreamReader<Message>(context, std::move(on_message),
                                   std::move(on_end));
}

grpc::ServerReadReactor<debugger::Chunk>* MindSporeFrontend::Impl::SendGraph(
    CallbackServerContext* context, Reply*) {
  auto assembly = std::make_shared<GraphAssembly>();
  return Read<debugger::Chunk>(
      context,
      [assembly](debugger::Chunk& chunk) { return assembly->Add(chunk); },
      [this, assembly, peer = context->peer()]() -> absl::Status {
        ASSIGN_OR_RETURN(auto graphs, assembly->Take());
        registry_.Get(peer)->OnGraphs(std::move(graphs));
        return absl::OkStatus();
      });
}

grpc::ServerReadReactor<debugger::Chunk>*
MindSporeFrontend::Impl::SendMultiGraphs(CallbackServerContext* context,
                                         Reply* reply) {
  // The chunks show where one graph ends and the next begins.
  return SendGraph(context, reply);
}

grpc::ServerReadReactor<debugger::WatchpointHit>*
MindSporeFrontend::Impl::SendWatchpointHits(CallbackServerContext* context,
                                            Reply*) {
  auto hits = std::make_shared<std::vector<debugger::WatchpointHit>>();
  return Read<debugger::WatchpointHit>(
      context,
      [hits](debugger::WatchpointHit& hit) {
        if (hits->size() < kMaxHitsPerCall) hits->push_back(std::move(hit));
        return absl::OkStatus();
      },
      [this, hits, peer = context->peer()] {
        registry_.Get(peer)->OnHits(std::move(*hits));
        return absl::OkStatus();
      });
}

template <class Message, class Take>
grpc::ServerReadReactor<Message>* MindSporeFrontend::Impl::ReadTensors(
    CallbackServerContext* context, Take take) {
  return Read<Message>(
      context,
      [this, take, peer = context->peer(),
       index = size_t{0}](Message& message) mutable {
        registry_.Get(peer)->OnTensors(
            [&](TensorFetcher& fetcher) { take(fetcher, index, message); });
        ++index;
        return absl::OkStatus();
      },
      [] { return absl::OkStatus(); });
}

grpc::ServerReadReactor<debugger::TensorProto>*
MindSporeFrontend::Impl::SendTensors(CallbackServerContext* context, Reply*) {
  return ReadTensors<debugger::TensorProto>(
      context, [](TensorFetcher& fetcher, size_t,
                  const debugger::TensorProto& piece) { fetcher.Take(piece); });
}

grpc::ServerReadReactor<debugger::TensorBase>*
MindSporeFrontend::Impl::SendTensorBase(CallbackServerContext* context,
                                        Reply*) {
  return ReadTensors<debugger::TensorBase>(
      context,
      [](TensorFetcher& fetcher, size_t index,
         const debugger::TensorBase& base) { fetcher.Take(index, base); });
}

grpc::ServerReadReactor<debugger::TensorSummary>*
MindSporeFrontend::Impl::SendTensorStats(CallbackServerContext* context,
                                         Reply*) {
  return ReadTensors<debugger::TensorSummary>(
      context, [](TensorFetcher& fetcher, size_t index,
                  const debugger::TensorSummary& summary) {
        fetcher.Take(index, summary);
      });
}

MindSporeFrontend::MindSporeFrontend(
    std::shared_ptr<jobs::AgentAcceptor> acceptor, FrontendOptions options)
    : impl_(std::make_unique<Impl>(std::move(acceptor), std::move(options))) {}

MindSporeFrontend::~MindSporeFrontend() = default;

grpc::Service* MindSporeFrontend::service() { return impl_.get(); }

absl::StatusOr<uint16_t> MindSporeFrontend::Listen(const std::string& host,
                                                   uint16_t port) {
  return impl_->Listen(host, port);
}

uint64_t MindSporeFrontend::stored_bytes() const {
  return impl_->stored_bytes();
}

void MindSporeFrontend::StopSaving() { impl_->StopSaving(); }

}  // namespace graphdbg::mindspore
