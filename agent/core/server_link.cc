#include "agent/core/server_link.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/core/allowed.h"
#include "agent/core/hello.h"
#include "agent/core/refusal.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/validate.h"

namespace graphdbg::agent {
namespace {

// The ranks that report an overview: the first ones stand for all.
constexpr uint32_t kOverviewRanks = 8;

}  // namespace

v1::AgentMessage ServerLink::OpenStream() {
  parts_.outbox->OpenStream();
  graph_.OpenStream();
  v1::AgentMessage message;
  *message.mutable_hello() = callbacks_.make_hello();
  return message;
}

bool ServerLink::Next(v1::AgentMessage* message, bool* graceful) {
  for (;;) {
    message->Clear();
    last_was_queued_ = false;
    // Nodes are sent before hits and states, which refer to them.
    if (parts_.outbox->stream() != 0 && graph_.Next(message)) return true;
    switch (parts_.outbox->Take(message)) {
      case Outbox::Next::kWoken:
        continue;
      case Outbox::Next::kEnd:
        *graceful = parts_.outbox->stream() != 0;
        return false;
      case Outbox::Next::kMessage:
        if (message->has_hit()) {
          graph_.Fill(message->mutable_hit()->mutable_source());
        }
        last_was_queued_ = true;
        return true;
    }
  }
}

void ServerLink::PutBack(v1::AgentMessage message) {
  parts_.outbox->PutBack(std::move(message));
}

void ServerLink::OnMessage(const v1::ServerMessage& message) {
  // When the program has ended, what is left of its graph is still sent, and
  // waits for answers.
  if (!callbacks_.live() && !message.has_needed_graph()) return;
  Handle(message);
  // Even if it was invalid: the server does not send another in its place.
  if (message.has_set_watchpoint()) parts_.connection->OnWatchpoint();
}

void ServerLink::Handle(const v1::ServerMessage& message) {
  if (absl::Status status = wire::Validate(message); !status.ok()) {
    parts_.outbox->PutLog(v1::Log::LEVEL_WARNING,
                          absl::StrCat("ignored an invalid message from the "
                                       "server: ",
                                       status.message()));
    return;
  }
  const absl::Status permission = CheckAllowed(parts_.config->allowed, message);
  if (!permission.ok()) return Refuse(message, permission);
  switch (message.message_case()) {
    case v1::ServerMessage::kWelcome:
      return OnWelcome(message.welcome());
    case v1::ServerMessage::kCommand:
      return OnCommand(message.command());
    case v1::ServerMessage::kSetWatchpoint:
      return OnSetWatchpoint(message.set_watchpoint());
    case v1::ServerMessage::kRemoveWatchpoint:
      parts_.watch->Remove(message.remove_watchpoint().id());
      parts_.captures->Remove(message.remove_watchpoint().id());
      return callbacks_.update_interest();
    case v1::ServerMessage::kTensorRequest:
      parts_.tensor_requests->Add(message.tensor_request(), absl::OkStatus());
      return callbacks_.wake_worker();
    case v1::ServerMessage::kTensorCancel:
      return parts_.tensor_requests->Cancel(
          message.tensor_cancel().request_id());
    case v1::ServerMessage::kCatchTensor:
      return OnCatchTensor(message.catch_tensor());
    case v1::ServerMessage::kHitsRecorded:
      return parts_.outbox->Confirm(message.hits_recorded().through());
    case v1::ServerMessage::kSetRecording:
      parts_.recordings->Set(message.set_recording());
      return callbacks_.wake_worker();
    case v1::ServerMessage::kFinding:
      return callbacks_.report(message.finding());
    case v1::ServerMessage::kNeededGraph:
      return graph_.Answer(message.needed_graph());
    case v1::ServerMessage::MESSAGE_NOT_SET:
      return;
  }
}

void ServerLink::Refuse(const v1::ServerMessage& message,
                        const absl::Status& status) {
  switch (message.message_case()) {
    case v1::ServerMessage::kCommand:
      return parts_.outbox->PutCommandResult(message.command().id(), status);
    case v1::ServerMessage::kSetWatchpoint:
      return PutWatchpointStatus(message.set_watchpoint(), status);
    case v1::ServerMessage::kTensorRequest:
      parts_.tensor_requests->Add(message.tensor_request(), status);
      return callbacks_.wake_worker();
    case v1::ServerMessage::kSetRecording:
      return parts_.recordings->Refuse(message.set_recording(), status);
    default:
      // Has no response.
      return parts_.outbox->PutLog(v1::Log::LEVEL_WARNING,
                                   std::string(status.message()));
  }
}

void ServerLink::OnWelcome(const v1::Welcome& welcome) {
  const std::vector<std::string> theirs(welcome.capabilities().begin(),
                                        welcome.capabilities().end());
  const absl::Status common = wire::CheckCommon(AgentCapabilities(), theirs);
  if (!common.ok()) {
    return callbacks_.detach(RefusalMessage(*parts_.config, common));
  }
  // A new stream starts from nothing.
  parts_.nodes->ResendAll();
  graph_.BeginStream(wire::Has(theirs, wire::kGraphOffer));
  parts_.outbox->BeginStream({wire::Has(theirs, wire::kHitsRecorded),
                              wire::Has(theirs, wire::kStatisticsReport),
                              wire::Has(theirs, wire::kHitsAbsorbed),
                              wire::Has(theirs, wire::kRecording1),
                              wire::Has(theirs, wire::kReplicas1),
                              wire::Has(theirs, wire::kOrigins1),
                              wire::Has(theirs, wire::kOverview1)});
  parts_.recordings->SetOverview(parts_.config->overview &&
                                 parts_.config->rank < kOverviewRanks &&
                                 wire::Has(theirs, wire::kOverview1));
  parts_.gate->SetConnected(true);
  parts_.gate->ReportState(/*always=*/true);
  // Last: it lets the program start.
  parts_.connection->OnWelcome(welcome);
}

void ServerLink::OnCommand(const v1::Command& command) {
  if (command.has_recheck()) {
    parts_.rechecker->Add(command);
    return callbacks_.wake_worker();
  }
  if (command.has_continue_to()) return OnContinueTo(command);
  parts_.gate->Apply(command, 0);
}

void ServerLink::OnContinueTo(const v1::Command& command) {
  const std::string& name = command.continue_to().node();
  const uint32_t awaited = parts_.nodes->Find(name);
  if (awaited != 0 && !parts_.nodes->executes(awaited)) {
    return parts_.outbox->PutCommandResult(
        command.id(),
        wire::MakeError(
            absl::StatusCode::kInvalidArgument, "not_executable",
            absl::StrCat("cannot run to \"", name,
                         "\": it is not an op, so it never executes")));
  }
  parts_.gate->Apply(command, awaited);
  // The node may have been declared in between.
  const uint32_t declared = parts_.nodes->Find(name);
  if (declared != awaited) parts_.gate->NodeDeclared(name, declared);
}

void ServerLink::OnCatchTensor(const v1::CatchTensor& request) {
  const uint32_t node = parts_.nodes->Find(request.node());
  parts_.requested->Catch(node, parts_.gate->needs().pauses);
  if (!request.capture().empty()) {
    parts_.captures->CaptureNext(node, request.capture());
  }
  callbacks_.update_interest();
}

void ServerLink::OnSetWatchpoint(const v1::SetWatchpoint& watchpoint) {
  const absl::StatusOr<uint32_t> count = parts_.watch->Set(watchpoint);
  parts_.captures->Set(watchpoint);
  callbacks_.update_interest();
  PutWatchpointStatus(watchpoint, count);
}

void ServerLink::PutWatchpointStatus(const v1::SetWatchpoint& watchpoint,
                                     const absl::StatusOr<uint32_t>& count) {
  v1::WatchpointStatus answer;
  answer.set_id(watchpoint.id());
  answer.set_revision(watchpoint.revision());
  if (count.ok()) {
    answer.set_node_count(*count);
  } else {
    *answer.mutable_error() = wire::ToError(count.status());
  }
  parts_.outbox->PutWatchpointStatus(std::move(answer));
}

void ServerLink::OnReceivingEnded() {
  parts_.outbox->EndStream();
  graph_.EndStream();
}

std::optional<std::chrono::milliseconds> ServerLink::OnStreamEnded(
    const absl::Status& status) {
  parts_.outbox->EndStream();
  graph_.EndStream();
  parts_.recordings->SetOverview(false);
  parts_.tensor_requests->DropAll();
  parts_.rechecker->DropAll();
  parts_.gate->SetConnected(false);
  if (!callbacks_.live()) return std::nullopt;
  if (IsRefusal(status, parts_.connection->was_accepted())) {
    callbacks_.detach(RefusalMessage(*parts_.config, status));
    return std::nullopt;
  }
  return parts_.connection->OnStreamEnded();
}

}  // namespace graphdbg::agent
