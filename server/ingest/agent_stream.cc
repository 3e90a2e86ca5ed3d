#include "server/ingest/agent_stream.h"

#include <grpc/support/time.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/validate.h"
#include "server/base/error.h"
#include "server/ingest/capabilities.h"
#include "server/ingest/decode.h"
#include "server/ingest/encode.h"

namespace graphdbg::ingest {
namespace {

// The stream of an agent that does not read its messages is closed when its
// outbox exceeds either limit.
constexpr size_t kMaxOutboxMessages = 20'000;
constexpr size_t kMaxOutboxBytes = size_t{64} << 20;

constexpr int64_t kHelloDeadlineMs = 10'000;

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(
      static_cast<grpc::StatusCode>(status.code()),
      std::string(status.message().data(), status.message().size()));
}

// gRPC's "ipv4:127.0.0.1:1234" without the family. The other end of a Unix
// socket has no name.
std::string Address(const std::string& peer) {
  if (peer.rfind("unix:", 0) == 0) return "unix socket";
  for (const char* family : {"ipv4:", "ipv6:"}) {
    if (peer.rfind(family, 0) == 0) return peer.substr(5);
  }
  return peer;
}

grpc::ByteBuffer Serialize(const v1::ServerMessage& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  grpc::SerializationTraits<v1::ServerMessage>::Serialize(message, &buffer,
                                                          &own_buffer);
  return buffer;
}

absl::Cord DataOf(const wire::Frame& frame) {
  absl::Cord data;
  for (const grpc::Slice& slice : frame.data()) {
    const absl::string_view bytes(reinterpret_cast<const char*>(slice.begin()),
                                  slice.size());
    // The releaser holds a reference to the bytes.
    data.Append(absl::MakeCordFromExternal(bytes, [slice] {}));
  }
  return data;
}

}  // namespace

AgentStream* AgentStream::Open(std::shared_ptr<Shared> shared,
                               grpc::CallbackServerContext* context,
                               absl::Status admission) {
  auto stream =
      std::shared_ptr<AgentStream>(new AgentStream(std::move(shared), context));
  stream->self_ = stream;
  if (admission.ok()) {
    stream->WaitForHello();
    stream->ReadNext();
  } else {
    stream->Close(std::move(admission));
  }
  return stream.get();
}

AgentStream::AgentStream(std::shared_ptr<Shared> shared,
                         grpc::CallbackServerContext* context)
    : shared_(std::move(shared)), context_(context) {}

AgentStream::~AgentStream() = default;

void AgentStream::WaitForHello() {
  hello_alarm_.Set(
      // Changes of the wall clock do not move it.
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_millis(kHelloDeadlineMs, GPR_TIMESPAN)),
      [weak = weak_from_this()](bool expired) {
        auto self = weak.lock();
        if (!expired || self == nullptr) return;
        {
          absl::MutexLock lock(&self->mu_);
          if (self->greeted_) return;
        }
        self->Close(Error(absl::StatusCode::kDeadlineExceeded, "no_hello",
                          "the agent did not send a hello message in time"));
      });
}

void AgentStream::ReadNext() {
  {
    absl::MutexLock lock(&mu_);
    if (ending_ || finished_) return;
    ++starting_;
  }
  StartRead(&incoming_);
  {
    absl::MutexLock lock(&mu_);
    --starting_;
  }
  Pump();
}

void AgentStream::OnReadDone(bool ok) {
  if (ok) {
    Handle();
    return;
  }
  bool in_good_order = false;
  {
    absl::MutexLock lock(&mu_);
    in_good_order = said_goodbye_;
  }
  Close(in_good_order ? absl::OkStatus()
                      : Error(absl::StatusCode::kInvalidArgument, "no_goodbye",
                              "the stream ended without a goodbye message"));
}

absl::Status AgentStream::Decode() {
  RETURN_IF_ERROR(frame_.Decode(&incoming_));
  return wire::Validate(frame_.message(), frame_.data_bytes());
}

void AgentStream::Handle() {
  if (auto valid = Decode(); !valid.ok()) return Close(valid);
  v1::AgentMessage& message = frame_.message();
  if (message.has_hello() == has_said_hello_) {
    return Close(Error(absl::StatusCode::kInvalidArgument, "bad_order",
                       has_said_hello_
                           ? "the agent sent a second hello message"
                           : "the first message must be a hello message"));
  }
  if (!has_said_hello_) {
    has_said_hello_ = true;
    return HandleHello();
  }
  std::shared_ptr<jobs::AgentPort> port;
  {
    absl::MutexLock lock(&mu_);
    port = port_;
    said_goodbye_ |= message.has_goodbye();
  }
  if (port == nullptr) return;
  port->Deliver(DecodeReport(message, DataOf(frame_)),
                [self = shared_from_this()](absl::Status processed) {
                  if (!processed.ok() && ReasonOf(processed) != "not_kept") {
                    return self->Close(processed);
                  }
                  self->ReadNext();
                });
}

bool AgentStream::MergeConfirmation(uint64_t through) {
  absl::MutexLock lock(&mu_);
  if (outbox_.empty() || !outbox_.back().has_hits_recorded()) return false;
  outbox_.back().mutable_hits_recorded()->set_through(through);
  return true;
}

void AgentStream::HandleHello() {
  {
    absl::MutexLock lock(&mu_);
    greeted_ = true;
  }
  auto compatible =
      CheckCapabilities(frame_.message().hello(), shared_->server_info.version);
  if (!compatible.ok()) return Close(compatible);
  const auto& theirs = frame_.message().hello().capabilities();
  knows_absorbed_ =
      wire::Has({theirs.begin(), theirs.end()}, wire::kHitsAbsorbed);
  auto self = shared_from_this();
  shared_->entrance->Attach(
      DecodeHello(frame_.message().hello(), Address(context_->peer())), self,
      [self](absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
        self->Attached(std::move(port));
      });
}

void AgentStream::Attached(
    absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
  if (!port.ok()) return Close(port.status());
  bool gone = false;
  {
    absl::MutexLock lock(&mu_);
    gone = input_over_;
    if (!gone) port_ = *port;
  }
  if (gone) return (*port)->Closed();
  ReadNext();
}

void AgentStream::ReportClosed() {
  std::shared_ptr<jobs::AgentPort> port;
  {
    absl::MutexLock lock(&mu_);
    input_over_ = true;
    port = std::move(port_);
  }
  if (port != nullptr) port->Closed();
}

void AgentStream::Send(jobs::AgentOrder order) {
  const auto* recorded = std::get_if<jobs::HitsRecordedOrder>(&order);
  if (recorded != nullptr && MergeConfirmation(recorded->through)) return;
  v1::ServerMessage message = Encode(order, shared_->server_info);
  if (message.has_set_watchpoint() && !knows_absorbed_) {
    // Older agents stop at all infinities.
    message.mutable_set_watchpoint()
        ->mutable_condition()
        ->mutable_text_params()
        ->erase("absorbed");
  }
  Push(std::move(message));
}

void AgentStream::ClearOutbox() {
  outbox_.clear();
  outbox_bytes_ = 0;
}

void AgentStream::Push(v1::ServerMessage message) {
  bool overflow = false;
  {
    absl::MutexLock lock(&mu_);
    if (ending_ || finished_) return;
    outbox_bytes_ += message.ByteSizeLong();
    outbox_.push_back(std::move(message));
    overflow =
        outbox_.size() > kMaxOutboxMessages || outbox_bytes_ > kMaxOutboxBytes;
    if (overflow) {
      ClearOutbox();
      ending_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "the agent does not read its messages");
      // Delays Finish, after which the context is invalid, until TryCancel has
      // returned.
      ++starting_;
    }
  }
  if (overflow) {
    ReportClosed();
    context_->TryCancel();
    absl::MutexLock lock(&mu_);
    --starting_;
  }
  Pump();
}

void AgentStream::Close(absl::Status status) {
  // Must precede the end of the stream, so that the rank is free when the agent
  // reconnects.
  ReportClosed();
  {
    absl::MutexLock lock(&mu_);
    if (!ending_) ending_ = ToGrpc(status);
  }
  Pump();
}

void AgentStream::Pump() {
  std::optional<grpc::Status> ending;
  {
    absl::MutexLock lock(&mu_);
    if (writing_ || starting_ > 0 || finished_) return;
    if (!outbox_.empty()) {
      outbox_bytes_ -= outbox_.front().ByteSizeLong();
      outgoing_ = Serialize(outbox_.front());
      outbox_.pop_front();
      writing_ = true;
    } else if (ending_) {
      finished_ = true;
      ending = ending_;
    } else {
      return;
    }
  }
  if (ending) {
    Finish(*ending);
  } else {
    StartWrite(&outgoing_);
  }
}

void AgentStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) {
      ClearOutbox();
    }
  }
  Pump();
}

void AgentStream::OnCancel() {
  {
    absl::MutexLock lock(&mu_);
    ClearOutbox();
  }
  Close(Error(absl::StatusCode::kCancelled, "cancelled",
              "the agent closed the connection"));
}

void AgentStream::OnDone() {
  ReportClosed();
  shared_->streams.fetch_sub(1);
  // This may be the last reference.
  auto self = std::move(self_);
}

}  // namespace graphdbg::ingest
