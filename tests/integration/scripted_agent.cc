#include "tests/integration/scripted_agent.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/integration/patience.h"

namespace graphdbg::integration {

ScriptedAgent::ScriptedAgent(uint16_t port, const std::string& token) {
  // Streams of one process would share a connection, and breaking one would
  // break the others.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub_ = v1::AgentService::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                grpc::InsecureChannelCredentials(), arguments));
  context_.set_deadline(std::chrono::system_clock::now() + kPatience);
  if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
  stream_ = stub_->Session(&context_);
}

ScriptedAgent::~ScriptedAgent() {
  if (stream_ == nullptr) return;
  Break();
}

v1::Hello ScriptedAgent::MakeHello(const std::string& job, uint32_t rank,
                                   uint32_t world_size) {
  static int processes = 0;
  v1::Hello hello;
  hello.add_capabilities("wire/1");
  hello.add_capabilities("tensor/slice");
  hello.set_agent_version("0.1.0-test");
  hello.set_job(job);
  hello.set_job_name("train.py");
  hello.set_rank(rank);
  hello.set_world_size(world_size);
  hello.set_framework("pytorch");
  hello.set_framework_version("2.13.0");
  hello.set_host("box");
  hello.set_pid(1000 + rank);
  hello.set_device("cpu");
  hello.set_incarnation("process-" + std::to_string(++processes));
  hello.set_waits_at_start(true);
  return hello;
}

v1::Welcome ScriptedAgent::Join(const v1::Hello& hello) {
  EXPECT_TRUE(SendHello(hello));
  v1::ServerMessage answer = Receive();
  EXPECT_TRUE(answer.has_welcome()) << answer.ShortDebugString();
  return answer.welcome();
}

bool ScriptedAgent::Send(const v1::AgentMessage& message) {
  return stream_->Write(message);
}

bool ScriptedAgent::SendHello(const v1::Hello& hello) {
  v1::AgentMessage message;
  *message.mutable_hello() = hello;
  return Send(message);
}

bool ScriptedAgent::SendGraph(const std::vector<v1::Node>& nodes) {
  v1::AgentMessage message;
  message.mutable_graph();
  for (const v1::Node& node : nodes)
    *message.mutable_graph()->add_nodes() = node;
  (*message.mutable_graph()->mutable_scope_types())["forward/conv1"] = "Conv2d";
  return Send(message);
}

bool ScriptedAgent::SendPaused(v1::PauseReason reason, uint64_t step,
                               uint32_t node_id,
                               const std::vector<uint32_t>& watchpoints) {
  v1::AgentMessage message;
  v1::StateUpdate& state = *message.mutable_state();
  state.set_state(v1::RUN_STATE_PAUSED);
  state.set_reason(reason);
  state.set_step(step);
  state.set_node_id(node_id);
  for (uint32_t id : watchpoints) state.add_watchpoints(id);
  return Send(message);
}

bool ScriptedAgent::SendRunning(uint64_t step) {
  v1::AgentMessage message;
  message.mutable_state()->set_state(v1::RUN_STATE_RUNNING);
  message.mutable_state()->set_step(step);
  return Send(message);
}

bool ScriptedAgent::SendOutcome(uint64_t command_id,
                                const std::string& refusal) {
  v1::AgentMessage message;
  v1::CommandResult& result = *message.mutable_command_result();
  result.set_command_id(command_id);
  if (!refusal.empty()) {
    result.mutable_error()->set_code(grpc::StatusCode::FAILED_PRECONDITION);
    result.mutable_error()->set_message(refusal);
  }
  return Send(message);
}

bool ScriptedAgent::SendGoodbye(int exit_code, uint64_t steps,
                                bool terminated) {
  v1::AgentMessage message;
  v1::Goodbye& goodbye = *message.mutable_goodbye();
  goodbye.set_exit_code(exit_code);
  goodbye.set_steps(steps);
  goodbye.set_terminated(terminated);
  return Send(message);
}

v1::ServerMessage ScriptedAgent::Receive() {
  v1::ServerMessage message;
  if (!stream_->Read(&message)) message.Clear();
  return message;
}

grpc::Status ScriptedAgent::End() {
  stream_->WritesDone();
  v1::ServerMessage message;
  while (stream_->Read(&message)) {
  }
  grpc::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

void ScriptedAgent::Break() {
  context_.TryCancel();
  stream_->Finish();
  stream_.reset();
}

std::vector<v1::Node> SmallGraph() {
  std::vector<v1::Node> nodes(4);
  const char* names[] = {"forward/conv1/weight", "forward/conv1/conv2d",
                         "forward/log", "backward/log/log_backward"};
  const char* op_types[] = {"", "aten::conv2d", "aten::log", "LogBackward0"};
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    v1::Node& node = nodes[i];
    node.set_id(i + 1);
    node.set_name(names[i]);
    node.set_op_type(op_types[i]);
    node.set_kind(i == 0 ? v1::NODE_KIND_PARAMETER : v1::NODE_KIND_OP);
    node.set_category(i == 0   ? v1::NODE_CATEGORY_WEIGHT
                      : i == 3 ? v1::NODE_CATEGORY_GRADIENT
                               : v1::NODE_CATEGORY_ACTIVATION);
    node.set_order(i);
    node.set_first_step(1);
    v1::TensorType& type = *node.add_outputs()->mutable_type();
    type.set_dtype(v1::DTYPE_FLOAT32);
    type.add_shape(2);
    type.add_shape(3);
    if (i > 0) node.add_inputs()->set_node_id(i);
    if (i < 3) {
      v1::SourceFrame& frame = *node.add_stack();
      frame.set_file("/home/someone/train.py");
      frame.set_line(10 + i);
      frame.set_function("forward");
      frame.set_user(true);
    }
  }
  nodes[3].set_forward_node_id(3);
  return nodes;
}

}  // namespace graphdbg::integration
