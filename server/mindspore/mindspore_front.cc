#include "server/mindspore/mindspore_front.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/mindspore/debugger.grpc.pb.h"
#include "server/base/error.h"
#include "server/ingest/address.h"
#include "server/mindspore/graph_assembly.h"
#include "server/mindspore/registry.h"
#include "server/mindspore/stream_reader.h"

namespace graphdbg::mindspore {
namespace {

using grpc::CallbackServerContext;

// One more than are kept, so that the job's log tells of it.
constexpr size_t kMaxHitsPerCall = Dialogue::kMaxHits + 1;
constexpr int kMaxHeartbeatSeconds = 86'400;
constexpr size_t kMaxRefusedHosts = 1'000;

absl::Status NotAllowed(std::string_view peer) {
  return Error(
      absl::StatusCode::kPermissionDenied, "peer_not_allowed",
      absl::StrCat("MindSpore jobs from ", HostOf(peer),
                   " are not allowed: its wire cannot authenticate, so that "
                   "other machines have to be named (--mindspore-allow)"));
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

}  // namespace

class MindSporeFront::Impl final
    : public debugger::EventListener::CallbackService {
 public:
  Impl(std::shared_ptr<jobs::AgentAcceptor> entrance, FrontOptions options);
  ~Impl() override;

  absl::StatusOr<uint16_t> Listen(const std::string& host, uint16_t port);
  void StopKeeping() { shared_->files->Close(); }

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

  // Hands each message with its number to the conversation's views.
  template <class Message, class Take>
  Reader<Message>* ReadViews(CallbackServerContext* context, Take take);
  // One that does nothing but refuse, if the peer may not come.
  template <class Message>
  StreamReader<Message>* Read(
      CallbackServerContext* context,
      typename StreamReader<Message>::OnMessage on_message,
      typename StreamReader<Message>::OnEnd on_end);
  void SweepUntilStopped();
  // Whether a client may come.
  absl::Status Check(const std::string& peer);

  const FrontOptions options_;
  const std::shared_ptr<const Conversation::Shared> shared_;
  Registry registry_;
  std::unique_ptr<grpc::Server> listener_;
  std::mutex mu_;
  std::condition_variable stop_;
  // Guarded by mu_.
  bool stopping_ = false;
  std::set<std::string> refused_;
  std::thread sweeper_;
};

namespace {

FrontOptions WithDefaults(FrontOptions options) {
  if (!options.now_unix_nano) options.now_unix_nano = SystemUnixNano;
  return options;
}

std::shared_ptr<const Conversation::Shared> SharedOf(
    std::shared_ptr<jobs::AgentAcceptor> entrance,
    const FrontOptions& options) {
  auto shared = std::make_shared<Conversation::Shared>();
  shared->entrance = std::move(entrance);
  shared->now_unix_nano = options.now_unix_nano;
  shared->log = options.log;
  shared->refresh = options.refresh;
  shared->files = std::make_shared<ClientFiles>(options.state_dir, options.log);
  return shared;
}

}  // namespace

MindSporeFront::Impl::Impl(std::shared_ptr<jobs::AgentAcceptor> entrance,
                           FrontOptions options)
    : options_(WithDefaults(std::move(options))),
      shared_(SharedOf(std::move(entrance), options_)),
      registry_(shared_),
      sweeper_([this] { SweepUntilStopped(); }) {}

MindSporeFront::Impl::~Impl() {
  // Calls that wait are ended.
  if (listener_) listener_->Shutdown(std::chrono::system_clock::now());
  if (listener_) listener_->Wait();
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
  }
  stop_.notify_all();
  sweeper_.join();
}

void MindSporeFront::Impl::SweepUntilStopped() {
  std::unique_lock lock(mu_);
  while (!stop_.wait_for(lock, options_.sweep, [&] { return stopping_; })) {
    lock.unlock();
    registry_.Sweep();
    lock.lock();
  }
}

absl::StatusOr<uint16_t> MindSporeFront::Impl::Listen(const std::string& host,
                                                      uint16_t port) {
  if (auto can = ingest::CheckListen(host, port); !can.ok()) return can;
  const std::string address = ingest::JoinHostPort(host, port);
  int bound = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &bound);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Its methods are all callbacks: several servers may have it.
  builder.RegisterService(this);
  listener_ = builder.BuildAndStart();
  if (listener_ != nullptr && bound != 0) return static_cast<uint16_t>(bound);
  listener_.reset();
  return Error(absl::StatusCode::kUnavailable, "cannot_listen",
               absl::StrCat("cannot listen for MindSpore jobs on ", address));
}

absl::Status MindSporeFront::Impl::Check(const std::string& peer) {
  if (IsLocal(peer) || options_.allow.Allows(HostOf(peer))) {
    return absl::OkStatus();
  }
  const absl::Status refused = NotAllowed(peer);
  std::lock_guard lock(mu_);
  // One line for each host; not for ever more of them.
  const bool is_new = refused_.size() < kMaxRefusedHosts &&
                      refused_.insert(HostOf(peer)).second;
  if (is_new && options_.log) {
    options_.log({refused.message().data(), refused.message().size()});
  }
  return refused;
}

grpc::ServerUnaryReactor* MindSporeFront::Impl::SendMetadata(
    CallbackServerContext* context, const debugger::Metadata* metadata,
    Reply* reply) {
  auto* reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  if (auto allowed = Check(peer); !allowed.ok()) {
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }
  if (metadata->training_done()) {
    registry_.ForKnown(peer, *metadata)->Done(*metadata);
  } else {
    registry_.ForMetadata(peer)->Met(*metadata);
    // Clients from 1.1 on end themselves without it; older ones skip it.
    reply->set_version_matched(true);
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* MindSporeFront::Impl::WaitCMD(
    CallbackServerContext* context, const debugger::Metadata* metadata,
    Reply* reply) {
  const std::string peer = context->peer();
  if (auto allowed = Check(peer); !allowed.ok()) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }
  auto conversation = registry_.ForKnown(peer, *metadata);
  auto call = WaitCall::Open(
      reply, {[conversation](WaitCall* c) { conversation->WaitedLong(c); },
              [conversation](WaitCall* c) { conversation->WaitBroken(c); }});
  conversation->Wait(call, *metadata);
  return call.get();
}

grpc::ServerUnaryReactor* MindSporeFront::Impl::SendHeartbeat(
    CallbackServerContext* context, const debugger::Heartbeat* beat, Reply*) {
  auto* reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  const auto allowed = Check(peer);
  if (allowed.ok() && beat->period() > 0) {
    registry_.Of(peer)->Heartbeat(
        std::chrono::seconds(std::min(beat->period(), kMaxHeartbeatSeconds)));
  }
  reactor->Finish(ToGrpc(allowed));
  return reactor;
}

template <class Message>
StreamReader<Message>* MindSporeFront::Impl::Read(
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

grpc::ServerReadReactor<debugger::Chunk>* MindSporeFront::Impl::SendGraph(
    CallbackServerContext* context, Reply*) {
  auto assembly = std::make_shared<GraphAssembly>();
  return Read<debugger::Chunk>(
      context,
      [assembly](debugger::Chunk& chunk) { return assembly->Add(chunk); },
      [this, assembly, peer = context->peer()]() -> absl::Status {
        auto graphs = assembly->Take();
        if (!graphs.ok()) return graphs.status();
        registry_.Of(peer)->Graphs(*std::move(graphs));
        return absl::OkStatus();
      });
}

grpc::ServerReadReactor<debugger::Chunk>* MindSporeFront::Impl::SendMultiGraphs(
    CallbackServerContext* context, Reply* reply) {
  // Told apart by what the pieces say.
  return SendGraph(context, reply);
}

grpc::ServerReadReactor<debugger::WatchpointHit>*
MindSporeFront::Impl::SendWatchpointHits(CallbackServerContext* context,
                                         Reply*) {
  auto hits = std::make_shared<std::vector<debugger::WatchpointHit>>();
  return Read<debugger::WatchpointHit>(
      context,
      [hits](debugger::WatchpointHit& hit) {
        if (hits->size() < kMaxHitsPerCall) hits->push_back(std::move(hit));
        return absl::OkStatus();
      },
      [this, hits, peer = context->peer()] {
        registry_.Of(peer)->Hits(std::move(*hits));
        return absl::OkStatus();
      });
}

template <class Message, class Take>
grpc::ServerReadReactor<Message>* MindSporeFront::Impl::ReadViews(
    CallbackServerContext* context, Take take) {
  return Read<Message>(
      context,
      [this, take, peer = context->peer(),
       index = size_t{0}](Message& message) mutable {
        registry_.Of(peer)->Views(
            [&](ViewDesk& views) { take(views, index, message); });
        ++index;
        return absl::OkStatus();
      },
      [] { return absl::OkStatus(); });
}

grpc::ServerReadReactor<debugger::TensorProto>*
MindSporeFront::Impl::SendTensors(CallbackServerContext* context, Reply*) {
  return ReadViews<debugger::TensorProto>(
      context, [](ViewDesk& views, size_t, const debugger::TensorProto& piece) {
        views.Take(piece);
      });
}

grpc::ServerReadReactor<debugger::TensorBase>*
MindSporeFront::Impl::SendTensorBase(CallbackServerContext* context, Reply*) {
  return ReadViews<debugger::TensorBase>(
      context,
      [](ViewDesk& views, size_t index, const debugger::TensorBase& base) {
        views.Take(index, base);
      });
}

grpc::ServerReadReactor<debugger::TensorSummary>*
MindSporeFront::Impl::SendTensorStats(CallbackServerContext* context, Reply*) {
  return ReadViews<debugger::TensorSummary>(
      context, [](ViewDesk& views, size_t index,
                  const debugger::TensorSummary& summary) {
        views.Take(index, summary);
      });
}

MindSporeFront::MindSporeFront(std::shared_ptr<jobs::AgentAcceptor> entrance,
                               FrontOptions options)
    : impl_(std::make_unique<Impl>(std::move(entrance), std::move(options))) {}

MindSporeFront::~MindSporeFront() = default;

grpc::Service* MindSporeFront::service() { return impl_.get(); }

absl::StatusOr<uint16_t> MindSporeFront::Listen(const std::string& host,
                                                uint16_t port) {
  return impl_->Listen(host, port);
}

void MindSporeFront::StopKeeping() { impl_->StopKeeping(); }

}  // namespace graphdbg::mindspore
