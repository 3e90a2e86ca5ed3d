// A gRPC server that is controlled by a test.
//
//   ScriptedServer server;
//   ... start an agent at 127.0.0.1:server.port() ...
//   auto session = server.Accept();          // an agent has connected
//   session->Welcome();
//   session->WaitForPause();
//   session->Continue();
//
// Waits fail the test after some seconds and return an empty value.
#ifndef AGENT_TESTING_SCRIPTED_SERVER_H_
#define AGENT_TESTING_SCRIPTED_SERVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/mutex.h"
#include "grpcpp/grpcpp.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"

namespace graphdbg::agent {

// One stream. Used by one thread of the test.
class ScriptedSession {
 public:
  using Stream = grpc::ServerReaderWriter<v1::ServerMessage, v1::AgentMessage>;

  ScriptedSession(Stream* stream, grpc::ServerContext* context, v1::Hello hello)
      : stream_(stream), hello_(std::move(hello)), context_(context) {}

  const v1::Hello& hello() const { return hello_; }

  void Send(const v1::ServerMessage& message);
  // Called instead of Welcome. Ends the stream with this status.
  void Refuse(grpc::Status status);
  // Drops the stream like a broken network.
  void Break();

  // Accepts the stream with these capabilities, or those of the agent's hello
  // if none are given.
  void Welcome(std::vector<std::string> capabilities = {});
  // Sets a watchpoint and returns the agent's answer.
  v1::WatchpointStatus Watch(const v1::SetWatchpoint& watchpoint);

  // Each sends a command and returns its id.
  uint64_t Continue();
  uint64_t Step(uint64_t steps);
  uint64_t NextNode();
  uint64_t ContinueTo(const std::string& node);
  uint64_t Pause();
  uint64_t Terminate();
  v1::CommandResult WaitForResult(uint64_t command_id);

  // Requests a tensor and returns the whole answer in one message.
  v1::TensorData Tensor(const v1::TensorRequest& request);

  v1::StateUpdate WaitForPause();
  v1::StateUpdate WaitForRunning();
  v1::Hit WaitForHit();
  v1::Goodbye WaitForGoodbye();
  // Waits until the agent has ended its stream.
  void WaitForEnd();

  // Returns the next message that `wanted` accepts. Those before it are
  // dropped, but their nodes stay known.
  v1::AgentMessage WaitFor(
      const std::function<bool(const v1::AgentMessage&)>& wanted);

  // The nodes that the agent has sent so far.
  std::optional<v1::Node> FindNode(const std::string& name) const;
  std::string NameOf(uint32_t node_id) const;

  // --- For ScriptedServer. Reads from the time the stream is accepted until it
  // ends.
  grpc::Status Serve();

 private:
  grpc::Status Read();
  uint64_t SendCommand(v1::ServerMessage* message);

  Stream* const stream_;
  const v1::Hello hello_;

  Mutex stream_mu_;
  // Null once the stream has ended, which the test may not know yet.
  grpc::ServerContext* context_ GRAPHDBG_GUARDED_BY(stream_mu_);

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<v1::AgentMessage> received_ GRAPHDBG_GUARDED_BY(mu_);
  std::map<uint32_t, v1::Node> nodes_ GRAPHDBG_GUARDED_BY(mu_);
  bool welcomed_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // The agent has ended the stream.
  bool ended_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // The test has refused the stream, with this status.
  bool refused_ GRAPHDBG_GUARDED_BY(mu_) = false;
  grpc::Status status_ GRAPHDBG_GUARDED_BY(mu_);

  // Used by the test's thread only.
  uint64_t next_command_ = 1;
  uint64_t next_request_ = 1;
};

class ScriptedServer {
 public:
  // Listens on a free port, or on `port`. If `token` is not empty, agents
  // without it are refused.
  explicit ScriptedServer(std::string token = "", int port = 0);
  ~ScriptedServer();

  int port() const { return port_; }
  // Waits for the next agent to connect.
  std::shared_ptr<ScriptedSession> Accept();
  // Drops all streams and stops listening.
  void Stop();

 private:
  class Service;

  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_SCRIPTED_SERVER_H_
