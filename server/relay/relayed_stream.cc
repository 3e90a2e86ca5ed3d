#include "server/relay/relayed_stream.h"

#include <grpc/support/time.h>
#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "server/ingest/agent_connections.h"
#include "server/relay/progress.h"

namespace graphdbg::relay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kMethod[] = "/graphdbg.v1.AgentService/Session";
constexpr char kToken[] = "authorization";

}  // namespace

RelayedStream* RelayedStream::Open(std::shared_ptr<Upstream> upstream,
                                   std::chrono::milliseconds interval,
                                   const grpc::CallbackServerContext& rank) {
  auto stream = std::shared_ptr<RelayedStream>(
      new RelayedStream(std::move(upstream), interval));
  stream->self_ = stream;
  stream->Start(rank);
  return stream.get();
}

RelayedStream::RelayedStream(std::shared_ptr<Upstream> upstream,
                             std::chrono::milliseconds interval)
    : upstream_(std::move(upstream)),
      interval_(interval),
      channel_(upstream_->Acquire()) {}

void RelayedStream::Start(const grpc::CallbackServerContext& rank) {
  const auto& metadata = rank.client_metadata();
  if (auto token = metadata.find(kToken); token != metadata.end()) {
    context_.AddMetadata(kToken, {token->second.data(), token->second.size()});
  }
  context_.AddMetadata(ingest::kRelayedHeader, "1");
  grpc::GenericStub stub(channel_);
  stub.PrepareBidiStreamingCall(&context_, kMethod, {}, &to_server_);
  // Until the server has sent its last message, the rank's stream may start
  // something on the server's.
  to_server_.AddHold();
  to_server_.StartRead(&from_server_);
  to_server_.StartCall();
  ReadFromRank();
}

// ---- from the rank to the server

void RelayedStream::ReadFromRank() {
  {
    absl::MutexLock lock(&mu_);
    if (reading_ || rank_over_ || finished_ || server_over_) return;
    reading_ = true;
    ++starting_;
  }
  StartRead(&from_rank_);
  {
    absl::MutexLock lock(&mu_);
    --starting_;
  }
  FinishIfOver();
}

void RelayedStream::OnReadDone(bool ok) {
  bool read_on = false;
  {
    absl::MutexLock lock(&mu_);
    reading_ = false;
    if (ok) {
      Take();
      read_on = queue_.empty();
    } else {
      rank_over_ = true;
      QueueProgress();
    }
  }
  if (read_on) ReadFromRank();
  PumpToServer();
}

void RelayedStream::Take() {
  const Progress progress = ProgressOf(from_rank_);
  const auto now = Clock::now();
  const bool is_newer = progress.kind == Progress::Kind::kRunning &&
                        last_running_ == progress.what;
  if (is_newer && now < next_progress_) {
    progress_ = std::move(from_rank_);
    SendProgressAt(next_progress_);
    return;
  }
  QueueProgress();
  if (progress.kind == Progress::Kind::kRunning) {
    last_running_ = progress.what;
    next_progress_ = now + interval_;
  } else if (progress.kind == Progress::Kind::kChange) {
    last_running_.reset();
  }
  queue_.push_back(std::move(from_rank_));
}

void RelayedStream::QueueProgress() {
  if (!progress_) return;
  queue_.push_back(*std::move(progress_));
  progress_.reset();
}

void RelayedStream::SendProgressAt(Clock::time_point due) {
  if (alarm_ != nullptr) return;
  alarm_ = std::make_unique<grpc::Alarm>();
  const auto delay =
      std::chrono::duration_cast<std::chrono::microseconds>(due - Clock::now());
  alarm_->Set(
      // Changes of the wall clock do not move it.
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_micros(delay.count(), GPR_TIMESPAN)),
      [weak = weak_from_this()](bool) {
        const std::shared_ptr<RelayedStream> self = weak.lock();
        if (self == nullptr) return;
        // Not destroyed while it calls.
        std::unique_ptr<grpc::Alarm> alarm;
        {
          absl::MutexLock lock(&self->mu_);
          alarm = std::move(self->alarm_);
          if (self->progress_) {
            self->next_progress_ = Clock::now() + self->interval_;
          }
          self->QueueProgress();
        }
        self->PumpToServer();
      });
}

void RelayedStream::PumpToServer() {
  bool tell_over = false;
  {
    absl::MutexLock lock(&mu_);
    if (server_over_ || sending_) return;
    if (queue_.empty()) {
      if (!rank_over_ || told_over_) return;
      told_over_ = tell_over = true;
    } else {
      sent_ = std::move(queue_.front());
      queue_.pop_front();
      sending_ = true;
    }
    to_server_.AddHold();
  }
  if (tell_over) {
    to_server_.StartWritesDone();
  } else {
    to_server_.StartWrite(&sent_);
  }
  to_server_.RemoveHold();
}

void RelayedStream::OnWrittenToServer() {
  bool read_on = false;
  {
    absl::MutexLock lock(&mu_);
    sending_ = false;
    read_on = queue_.empty();
  }
  if (read_on) ReadFromRank();
  PumpToServer();
}

// ---- from the server to the rank

void RelayedStream::ReadFromServer() {
  {
    absl::MutexLock lock(&mu_);
    if (server_over_) return;
    to_server_.AddHold();
  }
  to_server_.StartRead(&from_server_);
  to_server_.RemoveHold();
}

void RelayedStream::OnReadFromServer(bool ok) {
  if (ok) return WriteToRank();
  {
    absl::MutexLock lock(&mu_);
    server_over_ = true;
  }
  to_server_.RemoveHold();
}

void RelayedStream::WriteToRank() {
  upstream_->SetReachable(true);
  {
    absl::MutexLock lock(&mu_);
    writing_ = true;
    ++starting_;
  }
  StartWrite(&from_server_);
  {
    absl::MutexLock lock(&mu_);
    --starting_;
  }
  FinishIfOver();
}

void RelayedStream::OnWriteDone(bool) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
  }
  ReadFromServer();
  FinishIfOver();
}

// ---- the end

void RelayedStream::OnCancel() { context_.TryCancel(); }

void RelayedStream::OnServerDone(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    upstream_->SetReachable(false);
  }
  {
    absl::MutexLock lock(&mu_);
    ending_ = status;
  }
  FinishIfOver();
}

void RelayedStream::FinishIfOver() {
  grpc::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (!ending_ || finished_ || writing_ || starting_ > 0) return;
    finished_ = true;
    status = *ending_;
  }
  Finish(status);
}

void RelayedStream::OnDone() {
  upstream_->Release(channel_);
  self_.reset();
}

}  // namespace graphdbg::relay
