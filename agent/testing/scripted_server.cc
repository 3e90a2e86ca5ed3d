#include "agent/testing/scripted_server.h"

#include <chrono>

#include "gtest/gtest.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/limits.h"
#include "proto/wire/validate.h"

namespace graphdbg::agent {
namespace {

// Long enough for a loaded machine; only reached when a test fails.
constexpr auto kPatience = std::chrono::seconds(30);

}  // namespace

void ScriptedSession::Send(const v1::ServerMessage& message) {
  MutexLock lock(&stream_mu_);
  if (context_ != nullptr) stream_->Write(message);
}

void ScriptedSession::Refuse(grpc::Status status) {
  MutexLock lock(&mu_);
  refused_ = true;
  status_ = std::move(status);
  changed_.NotifyAll();
}

void ScriptedSession::Break() {
  MutexLock lock(&stream_mu_);
  if (context_ != nullptr) context_->TryCancel();
}

grpc::Status ScriptedSession::Serve() {
  grpc::Status status = Read();
  MutexLock lock(&stream_mu_);
  context_ = nullptr;
  return status;
}

grpc::Status ScriptedSession::Read() {
  {
    MutexLock lock(&mu_);
    while (!refused_ && !welcomed_) changed_.Wait(&mu_);
    if (refused_) return status_;
  }
  v1::AgentMessage message;
  while (stream_->Read(&message)) {
    EXPECT_TRUE(wire::Validate(message).ok())
        << wire::Validate(message) << "\n"
        << message.ShortDebugString().substr(0, 500);
    MutexLock lock(&mu_);
    for (const v1::Node& node : message.graph().nodes()) {
      nodes_[node.id()] = node;
    }
    received_.push_back(std::move(message));
    changed_.NotifyAll();
  }
  MutexLock lock(&mu_);
  ended_ = true;
  changed_.NotifyAll();
  return grpc::Status::OK;
}

v1::AgentMessage ScriptedSession::WaitFor(
    const std::function<bool(const v1::AgentMessage&)>& wanted) {
  MutexLock lock(&mu_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    while (received_.empty() && !ended_ && changed_.WaitUntil(&mu_, deadline)) {
    }
    if (received_.empty()) {
      ADD_FAILURE() << (ended_ ? "the stream ended" : "nothing was received");
      return {};
    }
    v1::AgentMessage message = std::move(received_.front());
    received_.pop_front();
    if (wanted(message)) return message;
  }
}

void ScriptedSession::WaitForEnd() {
  MutexLock lock(&mu_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!ended_ && changed_.WaitUntil(&mu_, deadline)) {
  }
  EXPECT_TRUE(ended_);
}

void ScriptedSession::Welcome(std::vector<std::string> capabilities) {
  v1::ServerMessage message;
  v1::Welcome* welcome = message.mutable_welcome();
  for (const std::string& name : hello_.capabilities()) {
    // Tests do not answer offers.
    if (name != wire::kGraphOffer) welcome->add_capabilities(name);
  }
  if (!capabilities.empty()) {
    *welcome->mutable_capabilities() = {capabilities.begin(),
                                        capabilities.end()};
  }
  welcome->set_job(hello_.job());
  Send(message);
  MutexLock lock(&mu_);
  welcomed_ = true;
  changed_.NotifyAll();
}

v1::WatchpointStatus ScriptedSession::Watch(
    const v1::SetWatchpoint& watchpoint) {
  v1::ServerMessage message;
  *message.mutable_set_watchpoint() = watchpoint;
  Send(message);
  return WaitFor([&](const v1::AgentMessage& m) {
           return m.has_watchpoint_status() &&
                  m.watchpoint_status().id() == watchpoint.id();
         })
      .watchpoint_status();
}

uint64_t ScriptedSession::SendCommand(v1::ServerMessage* message) {
  const uint64_t id = next_command_++;
  message->mutable_command()->set_id(id);
  Send(*message);
  return id;
}

uint64_t ScriptedSession::Continue() {
  v1::ServerMessage message;
  message.mutable_command()->mutable_continue_();
  return SendCommand(&message);
}

uint64_t ScriptedSession::Step(uint64_t steps) {
  v1::ServerMessage message;
  message.mutable_command()->mutable_step()->set_steps(steps);
  return SendCommand(&message);
}

uint64_t ScriptedSession::NextNode() {
  v1::ServerMessage message;
  message.mutable_command()->mutable_next_node();
  return SendCommand(&message);
}

uint64_t ScriptedSession::ContinueTo(const std::string& node) {
  v1::ServerMessage message;
  message.mutable_command()->mutable_continue_to()->set_node(node);
  return SendCommand(&message);
}

uint64_t ScriptedSession::Pause() {
  v1::ServerMessage message;
  message.mutable_command()->mutable_pause();
  return SendCommand(&message);
}

uint64_t ScriptedSession::Terminate() {
  v1::ServerMessage message;
  message.mutable_command()->mutable_terminate();
  return SendCommand(&message);
}

v1::CommandResult ScriptedSession::WaitForResult(uint64_t command_id) {
  return WaitFor([&](const v1::AgentMessage& m) {
           return m.has_command_result() &&
                  m.command_result().command_id() == command_id;
         })
      .command_result();
}

v1::TensorData ScriptedSession::Tensor(const v1::TensorRequest& request) {
  v1::ServerMessage message;
  *message.mutable_tensor_request() = request;
  const uint64_t id = next_request_++;
  message.mutable_tensor_request()->set_request_id(id);
  Send(message);
  v1::TensorData whole;
  while (!whole.last() && !testing::Test::HasFailure()) {
    const v1::TensorData piece =
        WaitFor([&](const v1::AgentMessage& m) {
          return m.has_tensor() && m.tensor().request_id() == id;
        }).tensor();
    whole.set_last(piece.last());
    whole.mutable_data()->append(piece.data());
    if (piece.has_header()) *whole.mutable_header() = piece.header();
    if (piece.has_error()) *whole.mutable_error() = piece.error();
  }
  return whole;
}

v1::StateUpdate ScriptedSession::WaitForPause() {
  return WaitFor([](const v1::AgentMessage& m) {
           return m.state().state() == v1::RUN_STATE_PAUSED;
         })
      .state();
}

v1::StateUpdate ScriptedSession::WaitForRunning() {
  return WaitFor([](const v1::AgentMessage& m) {
           return m.state().state() == v1::RUN_STATE_RUNNING;
         })
      .state();
}

v1::Hit ScriptedSession::WaitForHit() {
  return WaitFor([](const v1::AgentMessage& m) { return m.has_hit(); }).hit();
}

v1::Goodbye ScriptedSession::WaitForGoodbye() {
  return WaitFor([](const v1::AgentMessage& m) { return m.has_goodbye(); })
      .goodbye();
}

std::optional<v1::Node> ScriptedSession::FindNode(
    const std::string& name) const {
  MutexLock lock(&mu_);
  for (const auto& [id, node] : nodes_) {
    if (node.name() == name) return node;
  }
  return std::nullopt;
}

std::string ScriptedSession::NameOf(uint32_t node_id) const {
  MutexLock lock(&mu_);
  auto it = nodes_.find(node_id);
  return it == nodes_.end() ? "" : it->second.name();
}

class ScriptedServer::Service final : public v1::AgentService::Service {
 public:
  explicit Service(std::string token) : token_(std::move(token)) {}

  grpc::Status Session(grpc::ServerContext* context,
                       ScriptedSession::Stream* stream) override {
    if (!token_.empty()) {
      const auto& metadata = context->client_metadata();
      const auto it = metadata.find("authorization");
      const std::string given =
          it == metadata.end()
              ? ""
              : std::string(it->second.data(), it->second.size());
      if (given != "Bearer " + token_) {
        return {grpc::StatusCode::UNAUTHENTICATED, "wrong token"};
      }
    }
    v1::AgentMessage first;
    if (!stream->Read(&first)) return grpc::Status::OK;
    EXPECT_TRUE(first.has_hello());
    EXPECT_TRUE(wire::Validate(first).ok()) << wire::Validate(first);
    auto session =
        std::make_shared<ScriptedSession>(stream, context, first.hello());
    {
      MutexLock lock(&mu_);
      sessions_.push_back(session);
      changed_.NotifyAll();
    }
    return session->Serve();
  }

  std::shared_ptr<ScriptedSession> Accept() {
    MutexLock lock(&mu_);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (sessions_.empty() && changed_.WaitUntil(&mu_, deadline)) {
    }
    if (sessions_.empty()) {
      ADD_FAILURE() << "no agent connected";
      return nullptr;
    }
    auto session = std::move(sessions_.front());
    sessions_.pop_front();
    return session;
  }

 private:
  const std::string token_;
  Mutex mu_;
  CondVar changed_;
  std::deque<std::shared_ptr<ScriptedSession>> sessions_
      GRAPHDBG_GUARDED_BY(mu_);
};

ScriptedServer::ScriptedServer(std::string token, int port)
    : service_(std::make_unique<Service>(std::move(token))) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port),
                           grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr);
}

ScriptedServer::~ScriptedServer() { Stop(); }

std::shared_ptr<ScriptedSession> ScriptedServer::Accept() {
  return service_->Accept();
}

void ScriptedServer::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace graphdbg::agent
