#include "agent/transport/grpc_transport.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/base/mutex.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"
#include "proto/wire/frame.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

// How long one attempt to connect may take.
constexpr auto kConnectLimit = std::chrono::seconds(2);
constexpr auto kConnectPoll = std::chrono::milliseconds(100);
// The sum of these is the time after which the loss of a server's machine, or a
// server that has stopped to run, is detected, even during a long pause. The
// server accepts a ping every 5 s.
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;

// A stream to which frames are written that are encoded already.
using Stream = grpc::ClientReaderWriter<grpc::ByteBuffer, v1::ServerMessage>;

// Does the same as the generated stub for AgentService.Session, but with
// buffers instead of messages to write.
std::unique_ptr<Stream> OpenSession(grpc::Channel* channel,
                                    grpc::ClientContext* context) {
  const grpc::internal::RpcMethod method(
      "/graphdbg.v1.AgentService/Session",
      grpc::internal::RpcMethod::BIDI_STREAMING);
  return std::unique_ptr<Stream>(
      grpc::internal::ClientReaderWriterFactory<
          grpc::ByteBuffer, v1::ServerMessage>::Create(channel, method,
                                                       context));
}

std::string AddressOf(const Config& config) {
  const std::string& host = config.host;
  if (!config.socket.empty()) return absl::StrCat("unix:", config.socket);
  const bool bare_ipv6 =
      absl::StrContains(host, ':') && !absl::StartsWith(host, "[");
  return bare_ipv6 ? absl::StrCat("[", host, "]:", config.port)
                   : absl::StrCat(host, ":", config.port);
}

// A socket is not encrypted, because only programs on this machine can read it.
std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(
    const Config::Tls& tls) {
  if (tls.authority.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({tls.authority, tls.key, tls.certificate});
}

// A deadline that changes of the wall clock do not move.
gpr_timespec FromNow(std::chrono::milliseconds delay) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(delay.count(), GPR_TIMESPAN));
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(wire::kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  // Pings continue while no messages are sent, because a paused program sends
  // none.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // The proxy settings in the environment are for the job, not for the agent.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Do not reuse connections of an earlier stream to a server that is gone.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

// Waits for changes of a channel's state. Destroyed after the channel, whose
// end completes the last wait.
class StateWatch {
 public:
  StateWatch() = default;
  StateWatch(const StateWatch&) = delete;
  StateWatch& operator=(const StateWatch&) = delete;
  ~StateWatch() {
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // Returns once the state is no longer `state`, or after kConnectPoll.
  void WaitForChange(grpc::Channel* channel, grpc_connectivity_state state) {
    if (!waiting_) {
      channel->NotifyOnStateChange(state, gpr_inf_future(GPR_CLOCK_MONOTONIC),
                                   &queue_, nullptr);
    }
    void* tag;
    bool ok;
    waiting_ = queue_.AsyncNext(&tag, &ok, FromNow(kConnectPoll)) ==
               grpc::CompletionQueue::TIMEOUT;
  }

 private:
  grpc::CompletionQueue queue_;
  // A change has been asked for and has not come yet.
  bool waiting_ = false;
};

class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const Config& config)
      : address_(AddressOf(config)),
        token_(config.token),
        tls_(config.socket.empty() ? config.tls : Config::Tls()) {}

  ~GrpcTransport() override { Finish(std::chrono::milliseconds(0)); }

  // gRPC is not used before, because it starts threads, and a program may still
  // fork.
  void Start(Link* link) override {
    link_ = link;
    credentials_ = MakeCredentials(tls_);
    thread_ = std::thread([this] { Run(); });
  }

  void Cancel() override {
    MutexLock lock(&mu_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.NotifyAll();
  }

  void Finish(std::chrono::milliseconds limit) override {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(&mu_);
      finishing_ = true;
      changed_.NotifyAll();
      const auto deadline = std::chrono::steady_clock::now() + limit;
      while (!ended_ && changed_.WaitUntil(&mu_, deadline)) {
      }
    }
    Cancel();
    thread_.join();
    // The last of gRPC's objects: its own threads end with it.
    credentials_.reset();
  }

 private:
  void Run() {
    bool graceful = false;
    while (!graceful && !Stopping()) {
      const absl::Status status = RunStream(&graceful);
      const auto delay = link_->OnStreamEnded(status);
      if (!delay) break;
      WaitBeforeRetry(*delay);
    }
    MutexLock lock(&mu_);
    ended_ = true;
    changed_.NotifyAll();
  }

  bool Stopping() {
    MutexLock lock(&mu_);
    return cancelled_ || finishing_;
  }

  void WaitBeforeRetry(std::chrono::milliseconds delay) {
    MutexLock lock(&mu_);
    const auto deadline = std::chrono::steady_clock::now() + delay;
    while (!cancelled_ && !finishing_ && changed_.WaitUntil(&mu_, deadline)) {
    }
  }

  // Returns false if the attempt failed, took too long or was stopped.
  //
  // WaitForConnected() is no use here: gRPC's timers wait for a moment of the
  // wall clock, and an hour too long if that is set back by an hour. What
  // AsyncNext() waits for, it polls.
  bool Connect(grpc::Channel* channel, StateWatch* watch) {
    const auto deadline = std::chrono::steady_clock::now() + kConnectLimit;
    while (!Stopping() && std::chrono::steady_clock::now() < deadline) {
      const grpc_connectivity_state state = channel->GetState(true);
      if (state == GRPC_CHANNEL_READY) return true;
      // Refused at once: the caller waits before the next attempt.
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
      watch->WaitForChange(channel, state);
    }
    return false;
  }

  absl::Status RunStream(bool* graceful) {
    StateWatch watch;
    const std::shared_ptr<grpc::Channel> channel =
        MakeChannel(address_, credentials_);
    if (!Connect(channel.get(), &watch)) {
      return absl::UnavailableError("cannot connect");
    }
    grpc::ClientContext context;
    if (!token_.empty()) {
      context.AddMetadata("authorization", "Bearer " + token_);
    }
    {
      MutexLock lock(&mu_);
      if (cancelled_) return absl::CancelledError("stopped");
      context_ = &context;
    }
    const std::unique_ptr<Stream> stream = OpenSession(channel.get(), &context);
    v1::AgentMessage hello = link_->OpenStream();
    const bool open = stream->Write(wire::EncodeFrame(&hello));
    // Needed even if the stream is broken, because the status comes after the
    // last message.
    std::thread receiver([this, &stream] {
      v1::ServerMessage message;
      while (stream->Read(&message)) link_->OnMessage(message);
      link_->OnReceivingEnded();
    });
    *graceful = Send(stream.get(), open);
    // If the server does not end its side, the time limit of Finish cancels the
    // stream.
    receiver.join();
    const grpc::Status status = stream->Finish();
    MutexLock lock(&mu_);
    context_ = nullptr;
    return ToAbsl(status);
  }

  // Returns true if everything was sent.
  bool Send(Stream* stream, bool open) {
    bool graceful = false;
    v1::AgentMessage message;
    while (open && link_->Next(&message, &graceful)) {
      grpc::WriteOptions options;
      // Then gRPC sends both at once.
      if (link_->HasNext()) options.set_buffer_hint();
      open = stream->Write(wire::EncodeFrame(&message), options);
      if (!open) link_->PutBack(std::move(message));
    }
    if (open) stream->WritesDone();
    return open && graceful;
  }

  const std::string address_;
  const std::string token_;
  const Config::Tls tls_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Link* link_ = nullptr;
  std::thread thread_;

  Mutex mu_;
  CondVar changed_;
  // The current stream's.
  grpc::ClientContext* context_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  bool cancelled_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool finishing_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool ended_ GRAPHDBG_GUARDED_BY(mu_) = false;
};

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(const Config& config) {
  // gRPC's own log lines do not belong on the job's terminal.
  gpr_set_log_function([](gpr_log_func_args*) {});
  return std::make_unique<GrpcTransport>(config);
}

}  // namespace graphdbg::agent
