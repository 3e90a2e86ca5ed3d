// An agent that a test controls, over a real gRPC stream.
#ifndef TESTS_INTEGRATION_SCRIPTED_AGENT_H_
#define TESTS_INTEGRATION_SCRIPTED_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/graphdbg/v1/agent_service.grpc.pb.h"

namespace graphdbg::integration {

// Calls block. A stream ends by itself after 30 s, so that a test that waits in
// vain fails instead of hanging. Not thread safe.
class ScriptedAgent {
 public:
  explicit ScriptedAgent(uint16_t port, const std::string& token = "");
  ~ScriptedAgent();

  // A valid hello, which tests can modify.
  static v1::Hello MakeHello(const std::string& job, uint32_t rank = 0,
                             uint32_t world_size = 1);

  // Sends the hello and returns the welcome; fails the test if it is refused.
  v1::Welcome Join(const v1::Hello& hello);

  // Returns false if the stream has ended.
  bool Send(const v1::AgentMessage& message);
  bool SendHello(const v1::Hello& hello);
  bool SendGraph(const std::vector<v1::Node>& nodes);
  bool SendPaused(v1::PauseReason reason, uint64_t step, uint32_t node_id = 0,
                  const std::vector<uint32_t>& watchpoints = {});
  bool SendRunning(uint64_t step);
  bool SendOutcome(uint64_t command_id, const std::string& refusal = "");
  bool SendGoodbye(int exit_code, uint64_t steps, bool terminated = false);

  // Returns the next message; an empty one if the stream has ended.
  v1::ServerMessage Receive();
  // Sends no more, and returns the status with which the server ended the
  // stream.
  grpc::Status End();
  // Breaks the stream as a killed process does.
  void Break();

 private:
  std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ServerMessage>>
      stream_;
};

// forward/conv1/weight (1, parameter) -> forward/conv1/conv2d (2) ->
// forward/log (3) -> backward/log/log_backward (4), with sources for all but
// the last, float32 outputs of shape [2, 3].
std::vector<v1::Node> SmallGraph();

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_SCRIPTED_AGENT_H_
