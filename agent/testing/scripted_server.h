// A server that does what a test tells it, over real gRPC.
//
//   ScriptedServer server;
//   ... start an agent at 127.0.0.1:server.port() ...
//   auto session = server.Accept();          // an agent has said hello
//   session->Welcome();
//   session->WaitForPause();
//   session->Continue();
//
// Waiting fails the test after some seconds and returns something empty.
#ifndef AGENT_TESTING_SCRIPTED_SERVER_H_
#define AGENT_TESTING_SCRIPTED_SERVER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"

namespace graphdbg::agent {

// One stream. Used by one test thread.
class ScriptedSession {
 public:
  using Stream = grpc::ServerReaderWriter<v1::ServerMessage, v1::AgentMessage>;

  ScriptedSession(Stream* stream, grpc::ServerContext* context, v1::Hello hello)
      : stream_(stream), context_(context), hello_(std::move(hello)) {}

  const v1::Hello& hello() const { return hello_; }

  void Send(const v1::ServerMessage& message);
  // Instead of Welcome: ends the stream with this status.
  void Refuse(grpc::Status status);
  // Drops the stream as a broken network would.
  void Break();

  // With the capabilities given; those of the agent's hello if none are.
  void Welcome(std::vector<std::string> capabilities = {});
  // Sends it; the agent's answer.
  v1::WatchpointStatus Watch(const v1::SetWatchpoint& watchpoint);

  // Each sends a command; its id.
  uint64_t Continue();
  uint64_t Step(uint64_t steps);
  uint64_t NextNode();
  uint64_t ContinueTo(const std::string& node);
  uint64_t Pause();
  uint64_t Terminate();
  v1::CommandResult WaitForResult(uint64_t command_id);

  // All of an answer, in one message.
  v1::TensorData Tensor(const v1::TensorRequest& request);

  v1::StateUpdate WaitForPause();
  v1::StateUpdate WaitForRunning();
  v1::Hit WaitForHit();
  v1::Goodbye WaitForGoodbye();
  // The agent's stream has ended.
  void WaitForEnd();

  // The next message that `wanted` accepts; those before it are gone, but the
  // graph was noted.
  v1::AgentMessage WaitFor(
      const std::function<bool(const v1::AgentMessage&)>& wanted);

  // What is known of the graph so far.
  std::optional<v1::Node> FindNode(const std::string& name) const;
  std::string NameOf(uint32_t node_id) const;

  // --- For the server: once welcome, reads until the stream ends.
  grpc::Status Serve();

 private:
  uint64_t SendCommand(v1::ServerMessage* message);

  Stream* const stream_;
  grpc::ServerContext* const context_;
  const v1::Hello hello_;

  mutable std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::deque<v1::AgentMessage> received_;
  std::map<uint32_t, v1::Node> nodes_;
  bool welcomed_ = false;
  bool ended_ = false;
  bool finished_ = false;
  grpc::Status status_;

  uint64_t next_command_ = 1;
  uint64_t next_request_ = 1;
};

class ScriptedServer {
 public:
  // On a free port, or on `port`; agents without `token` are refused if it is
  // not empty.
  explicit ScriptedServer(std::string token = "", int port = 0);
  ~ScriptedServer();

  int port() const { return port_; }
  // The next agent that says hello.
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
