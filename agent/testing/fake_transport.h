// A transport without a network: the test acts as the server.
#ifndef AGENT_TESTING_FAKE_TRANSPORT_H_
#define AGENT_TESTING_FAKE_TRANSPORT_H_

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "agent/base/mutex.h"
#include "agent/core/link.h"

namespace graphdbg::agent {

// Owned by the agent; the test may use a pointer to it while the agent exists.
// Waits fail the test after some seconds.
class FakeTransport final : public Transport {
 public:
  ~FakeTransport() override;

  void Start(Link* link) override { link_ = link; }
  void Cancel() override;
  void Finish(std::chrono::milliseconds limit) override;

  // --- For the test.

  // Opens a stream and accepts it, announcing `watchpoints`.
  void Connect(uint32_t watchpoints = 0);
  // Breaks the stream.
  void Disconnect();
  void Send(const v1::ServerMessage& message) { link_->OnMessage(message); }
  // Sets a watchpoint and returns the agent's answer.
  v1::WatchpointStatus Watch(uint32_t id, const std::string& condition,
                             const std::string& node = "",
                             v1::PauseMode pause = v1::PAUSE_MODE_NONE);
  void Continue();
  // Sends the command with a new id, which is returned.
  uint64_t Command(v1::Command command);
  v1::CommandResult WaitForResult(uint64_t command_id);
  // Sends the request, with an id of its own, and returns the whole answer.
  v1::TensorData Ask(v1::TensorRequest request);
  // Requests a tensor and returns the whole answer in one message.
  v1::TensorData Tensor(
      const std::string& node,
      v1::TensorRequest::Version version = v1::TensorRequest::VERSION_CURRENT,
      const std::string& slice = "");
  // Returns the next message that `wanted` accepts. Those before it are
  // dropped.
  v1::AgentMessage WaitFor(
      const std::function<bool(const v1::AgentMessage&)>& wanted);
  v1::Hit WaitForHit();
  v1::StateUpdate WaitForPause();

 private:
  // Collects the agent's messages, except offers, which it answers.
  void Pump();
  void AskForAll(const v1::GraphOffer& offer);
  void JoinPump();

  Link* link_ = nullptr;
  std::thread pump_;
  uint64_t next_id_ = 1;

  Mutex mu_;
  CondVar changed_;
  std::deque<v1::AgentMessage> sent_ GRAPHDBG_GUARDED_BY(mu_);
  bool pump_ended_ GRAPHDBG_GUARDED_BY(mu_) = true;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_FAKE_TRANSPORT_H_
