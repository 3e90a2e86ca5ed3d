#include "agent/testing/fake_transport.h"

#include <utility>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

}  // namespace

FakeTransport::~FakeTransport() { Finish(std::chrono::milliseconds(0)); }

void FakeTransport::Cancel() {
  if (link_ != nullptr) link_->OnReceivingEnded();
}

void FakeTransport::Finish(std::chrono::milliseconds limit) {
  {
    MutexLock lock(&mu_);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!pump_ended_ && changed_.WaitUntil(&mu_, deadline)) {
    }
  }
  if (!pump_.joinable()) return;
  Cancel();
  JoinPump();
}

void FakeTransport::JoinPump() {
  if (pump_.joinable()) pump_.join();
}

void FakeTransport::Connect(uint32_t watchpoints) {
  const v1::AgentMessage hello = link_->OpenStream();
  {
    MutexLock lock(&mu_);
    pump_ended_ = false;
  }
  pump_ = std::thread([this] { Pump(); });
  v1::ServerMessage message;
  *message.mutable_welcome()->mutable_capabilities() =
      hello.hello().capabilities();
  message.mutable_welcome()->set_watchpoint_count(watchpoints);
  Send(message);
}

void FakeTransport::AskForAll(const v1::GraphOffer& offer) {
  v1::ServerMessage message;
  v1::NeededGraph& needed = *message.mutable_needed_graph();
  for (int i = 0; i < offer.node_ids_size(); ++i) {
    needed.add_nodes(static_cast<uint32_t>(i));
  }
  for (int i = 0; i < offer.files_size(); ++i) {
    needed.add_files(static_cast<uint32_t>(i));
  }
  Send(message);
}

void FakeTransport::Pump() {
  v1::AgentMessage message;
  bool graceful = false;
  while (link_->Next(&message, &graceful)) {
    if (message.has_graph_offer()) {
      AskForAll(message.graph_offer());
      continue;
    }
    MutexLock lock(&mu_);
    sent_.push_back(std::move(message));
    changed_.NotifyAll();
  }
  MutexLock lock(&mu_);
  pump_ended_ = true;
  changed_.NotifyAll();
}

void FakeTransport::Disconnect() {
  link_->OnReceivingEnded();
  JoinPump();
  link_->OnStreamEnded(absl::UnavailableError("broken"));
}

v1::AgentMessage FakeTransport::WaitFor(
    const std::function<bool(const v1::AgentMessage&)>& wanted) {
  MutexLock lock(&mu_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    while (sent_.empty() && changed_.WaitUntil(&mu_, deadline)) {
    }
    if (sent_.empty()) {
      ADD_FAILURE() << "nothing was sent";
      return {};
    }
    v1::AgentMessage message = std::move(sent_.front());
    sent_.pop_front();
    if (wanted(message)) return message;
  }
}

v1::WatchpointStatus FakeTransport::Watch(uint32_t id,
                                          const std::string& condition,
                                          const std::string& node,
                                          v1::PauseMode pause) {
  v1::ServerMessage message;
  v1::SetWatchpoint* watchpoint = message.mutable_set_watchpoint();
  watchpoint->set_id(id);
  watchpoint->mutable_condition()->set_id(condition);
  if (!node.empty()) watchpoint->mutable_selection()->add_nodes(node);
  watchpoint->set_pause(pause);
  watchpoint->set_enabled(true);
  Send(message);
  return WaitFor([&](const v1::AgentMessage& m) {
           return m.has_watchpoint_status() && m.watchpoint_status().id() == id;
         })
      .watchpoint_status();
}

void FakeTransport::Continue() {
  v1::Command command;
  command.mutable_continue_();
  Command(std::move(command));
}

uint64_t FakeTransport::Command(v1::Command command) {
  const uint64_t id = next_id_++;
  v1::ServerMessage message;
  *message.mutable_command() = std::move(command);
  message.mutable_command()->set_id(id);
  Send(message);
  return id;
}

v1::CommandResult FakeTransport::WaitForResult(uint64_t command_id) {
  return WaitFor([&](const v1::AgentMessage& m) {
           return m.command_result().command_id() == command_id;
         })
      .command_result();
}

v1::TensorData FakeTransport::Tensor(const std::string& node,
                                     v1::TensorRequest::Version version,
                                     const std::string& slice) {
  v1::TensorRequest request;
  request.set_node(node);
  request.set_want_data(true);
  request.set_version(version);
  request.set_slice_text(slice);
  return Ask(std::move(request));
}

v1::TensorData FakeTransport::Ask(v1::TensorRequest request) {
  const uint64_t id = next_id_++;
  request.set_request_id(id);
  v1::ServerMessage message;
  *message.mutable_tensor_request() = std::move(request);
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

v1::Hit FakeTransport::WaitForHit() {
  return WaitFor([](const v1::AgentMessage& m) { return m.has_hit(); }).hit();
}

v1::StateUpdate FakeTransport::WaitForPause() {
  return WaitFor([](const v1::AgentMessage& m) {
           return m.state().state() == v1::RUN_STATE_PAUSED;
         })
      .state();
}

}  // namespace graphdbg::agent
