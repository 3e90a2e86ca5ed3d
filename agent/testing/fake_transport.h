// A transport without a network: the test is the server.
#ifndef AGENT_TESTING_FAKE_TRANSPORT_H_
#define AGENT_TESTING_FAKE_TRANSPORT_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "agent/core/link.h"

namespace graphdbg::agent {

// Owned by the agent; the test keeps a pointer and uses it while the agent
// lives. Waiting fails the test after some seconds.
class FakeTransport final : public Transport {
 public:
  ~FakeTransport() override;

  void Start(Link* link) override { link_ = link; }
  void Cancel() override;
  void Finish(std::chrono::milliseconds limit) override;

  // --- The test's side.

  // Opens a stream and welcomes it; so many watchpoints are to follow.
  void Connect(uint32_t watchpoints = 0);
  // Breaks it.
  void Disconnect();
  void Send(const v1::ServerMessage& message) { link_->OnMessage(message); }
  // Sends it; the agent's answer.
  v1::WatchpointStatus Watch(uint32_t id, const std::string& condition,
                             const std::string& node = "",
                             v1::PauseMode pause = v1::PAUSE_MODE_NONE);
  void Continue();
  // Gives the command an id and sends it; the id.
  uint64_t Command(v1::Command command);
  v1::CommandResult WaitForResult(uint64_t command_id);
  // All of an answer, in one message.
  v1::TensorData Tensor(
      const std::string& node,
      v1::TensorRequest::Version version = v1::TensorRequest::VERSION_CURRENT,
      const std::string& slice = "");
  // The next message that `wanted` accepts; those before it are gone.
  v1::AgentMessage WaitFor(
      const std::function<bool(const v1::AgentMessage&)>& wanted);
  v1::Hit WaitForHit();
  v1::StateUpdate WaitForPause();

 private:
  void Pump();
  void JoinPump();

  Link* link_ = nullptr;
  std::thread pump_;
  uint64_t next_id_ = 1;

  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::deque<v1::AgentMessage> sent_;
  bool pump_ended_ = true;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_FAKE_TRANSPORT_H_
