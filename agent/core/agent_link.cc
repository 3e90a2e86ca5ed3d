// What is said to the server and heard from it.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/core/agent.h"
#include "agent/core/log.h"
#include "agent/core/version.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"
#include "proto/wire/validate.h"

namespace graphdbg::agent {
namespace {

constexpr auto kFirstRetry = std::chrono::milliseconds(200);
constexpr auto kLastRetry = std::chrono::milliseconds(5000);
// While the program waits for its server at the start.
constexpr auto kSearchRetry = std::chrono::milliseconds(200);
constexpr int kMaxArguments = 200;
constexpr size_t kMaxArgumentBytes = 1000;

std::vector<std::string> Capabilities() {
  std::vector<std::string> conditions;
  for (const conditions::Condition& condition : conditions::Catalogue()) {
    conditions.push_back(condition.id);
  }
  return wire::OwnCapabilities(conditions);
}

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return wire::ToValidUtf8(name, wire::kMaxNameBytes);
}

std::string Name(const std::string& text) {
  return wire::ToValidUtf8(text, wire::kMaxNameBytes);
}

// Trying again would get the same answer.
bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string Agent::ServerName() const {
  return absl::StrCat(config_.host, ":", config_.port);
}

std::string Agent::RefusalLine(const absl::Status& status) const {
  const std::string server = absl::StrCat("the server at ", ServerName());
  constexpr char kUndebugged[] = "; training goes on undebugged";
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return absl::StrCat(server,
                          config_.token.empty()
                              ? " wants a token: set GRAPHDBG_TOKEN_FILE or "
                                "GRAPHDBG_TOKEN"
                              : " does not accept the token of "
                                "GRAPHDBG_TOKEN_FILE or GRAPHDBG_TOKEN",
                          kUndebugged);
    case absl::StatusCode::kAlreadyExists:
      return absl::StrCat(server, ": rank ", config_.rank, " of job ",
                          config_.job, " is taken by another process (",
                          status.message(), ")", kUndebugged);
    case absl::StatusCode::kUnimplemented:
      return absl::StrCat("what answers at ", ServerName(),
                          " is no graphdbg server", kUndebugged);
    default:
      return absl::StrCat(server, " refuses: ", status.message(), kUndebugged);
  }
}

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  for (const std::string& name : Capabilities()) hello.add_capabilities(name);
  hello.set_agent_version(kVersion);
  hello.set_job(Name(config_.job));
  hello.set_job_name(
      Name(identity_.job_name.empty() ? config_.program : identity_.job_name));
  hello.set_rank(config_.rank);
  hello.set_world_size(config_.world_size);
  hello.set_framework(Name(identity_.framework));
  hello.set_framework_version(Name(identity_.framework_version));
  hello.set_host(HostName());
  hello.set_pid(static_cast<uint64_t>(getpid()));
  const auto device = devices_.first();
  hello.set_device(Name(device ? device->first : identity_.device));
  hello.set_device_id(device ? device->second : identity_.device_id);
  for (const std::string& argument : identity_.command_line) {
    if (hello.command_line_size() >= kMaxArguments) break;
    hello.add_command_line(wire::ToValidUtf8(argument, kMaxArgumentBytes));
  }
  hello.set_incarnation(incarnation_);
  hello.set_waits_at_start(config_.wait && !running_);
  return hello;
}

v1::AgentMessage Agent::OpenStream() {
  outbox_.OpenStream();
  v1::AgentMessage message;
  *message.mutable_hello() = MakeHello();
  return message;
}

bool Agent::Next(v1::AgentMessage* message, bool* graceful) {
  for (;;) {
    message->Clear();
    // Nodes first: hits and states are about them.
    if (outbox_.stream() != 0 &&
        nodes_.TakeUpdate(wire::kGraphUpdateBytes, message->mutable_graph())) {
      for (v1::Node& node : *message->mutable_graph()->mutable_nodes()) {
        for (v1::SourceFrame& frame : *node.mutable_stack()) {
          source_text_.Fill(&frame);
        }
      }
      return true;
    }
    switch (outbox_.Take(message)) {
      case Outbox::Next::kWoken:
        continue;
      case Outbox::Next::kEnd:
        *graceful = outbox_.stream() != 0;
        return false;
      case Outbox::Next::kMessage:
        if (message->has_hit()) {
          source_text_.Fill(message->mutable_hit()->mutable_source());
        }
        return true;
    }
  }
}

void Agent::PutBack(v1::AgentMessage message) {
  outbox_.PutBack(std::move(message));
}

void Agent::OnMessage(const v1::ServerMessage& message) {
  if (!live()) return;
  Handle(message);
  // Also one that was ignored: no other comes in its place.
  if (!message.has_set_watchpoint()) return;
  std::lock_guard<std::mutex> lock(mu_);
  if (awaited_watchpoints_ == 0 || --awaited_watchpoints_ > 0) return;
  changed_.notify_all();
}

void Agent::Handle(const v1::ServerMessage& message) {
  if (absl::Status status = wire::Validate(message); !status.ok()) {
    outbox_.PutLog(v1::Log::LEVEL_WARNING,
                   absl::StrCat("a message of the server was ignored: ",
                                status.message()));
    return;
  }
  switch (message.message_case()) {
    case v1::ServerMessage::kWelcome:
      return OnWelcome(message.welcome());
    case v1::ServerMessage::kCommand:
      return OnCommand(message.command());
    case v1::ServerMessage::kSetWatchpoint:
      return OnSetWatchpoint(message.set_watchpoint());
    case v1::ServerMessage::kRemoveWatchpoint:
      watch_.Remove(message.remove_watchpoint().id());
      return UpdateNeeds();
    case v1::ServerMessage::kTensorRequest:
      tensor_requests_.Ask(message.tensor_request());
      return WakeWorker();
    case v1::ServerMessage::kTensorCancel:
      return tensor_requests_.Cancel(message.tensor_cancel().request_id());
    case v1::ServerMessage::kCatchTensor:
      return OnCatchTensor(message.catch_tensor());
    case v1::ServerMessage::kHitsRecorded:
      return outbox_.Confirm(message.hits_recorded().through());
    case v1::ServerMessage::MESSAGE_NOT_SET:
      return;
  }
}

void Agent::OnWelcome(const v1::Welcome& welcome) {
  const std::vector<std::string> theirs(welcome.capabilities().begin(),
                                        welcome.capabilities().end());
  const absl::Status common = wire::CheckCommon(Capabilities(), theirs);
  if (!common.ok()) return Detach(RefusalLine(common));
  {
    std::lock_guard<std::mutex> lock(mu_);
    start_running_ = welcome.start_running();
    page_address_ = welcome.page_address();
    awaited_watchpoints_ = welcome.watchpoint_count();
    if (std::exchange(reported_lost_, false)) LogToStderr("the server is back");
    retry_delay_ = kFirstRetry;
  }
  nodes_.ResendAll();
  outbox_.BeginStream({wire::Has(theirs, wire::kHitsRecorded),
                       wire::Has(theirs, wire::kStatisticsReport)});
  gate_.SetConnected(true);
  gate_.ReportState(/*always=*/true);
  std::lock_guard<std::mutex> lock(mu_);
  connection_ = Connection::kUp;
  changed_.notify_all();
}

void Agent::OnCommand(const v1::Command& command) {
  if (command.has_recheck()) {
    rechecker_.Ask(command);
    return WakeWorker();
  }
  if (!command.has_continue_to()) return gate_.Apply(command, 0);
  const std::string& name = command.continue_to().node();
  const uint32_t awaited = nodes_.Find(name);
  if (awaited != 0 && !nodes_.executes(awaited)) {
    return outbox_.PutCommandResult(
        command.id(),
        wire::MakeError(
            absl::StatusCode::kInvalidArgument, "not_executable",
            absl::StrCat("node \"", name, "\" is no op: it does not execute")));
  }
  gate_.Apply(command, awaited);
  // It may have been declared in between.
  const uint32_t declared = nodes_.Find(name);
  if (declared != awaited) gate_.NodeDeclared(name, declared);
}

void Agent::OnCatchTensor(const v1::CatchTensor& request) {
  requested_.Catch(nodes_.Find(request.node()), gate_.needs().pauses);
  UpdateNeeds();
}

void Agent::WakeWorker() {
  std::lock_guard<std::mutex> lock(mu_);
  work_to_do_ = true;
  changed_.notify_all();
}

void Agent::OnSetWatchpoint(const v1::SetWatchpoint& watchpoint) {
  v1::WatchpointStatus answer;
  answer.set_id(watchpoint.id());
  answer.set_revision(watchpoint.revision());
  const absl::StatusOr<uint32_t> count = watch_.Set(watchpoint);
  if (count.ok()) {
    answer.set_node_count(*count);
  } else {
    *answer.mutable_error() = wire::ToError(count.status());
  }
  UpdateNeeds();
  outbox_.PutWatchpointStatus(std::move(answer));
}

void Agent::OnReceivingEnded() { outbox_.EndStream(); }

std::optional<std::chrono::milliseconds> Agent::OnStreamEnded(
    const absl::Status& status) {
  outbox_.EndStream();
  tensor_requests_.DropAll();
  rechecker_.DropAll();
  gate_.SetConnected(false);
  if (!live()) return std::nullopt;
  if (IsRefusal(status)) {
    Detach(RefusalLine(status));
    return std::nullopt;
  }
  std::lock_guard<std::mutex> lock(mu_);
  if (closing_) return std::nullopt;
  if (connection_ == Connection::kNever) return kSearchRetry;
  if (connection_ == Connection::kUp) {
    connection_ = Connection::kLost;
    lost_since_ = std::chrono::steady_clock::now();
    retry_delay_ = kFirstRetry;
    changed_.notify_all();
    if (!std::exchange(reported_lost_, true)) {
      LogToStderr(absl::StrCat("lost the server at ", ServerName(),
                               "; the program goes on, looking for it again"));
    }
  }
  return std::exchange(retry_delay_, std::min(retry_delay_ * 2, kLastRetry));
}

}  // namespace graphdbg::agent
