// A whole agent without network and C interface.
#ifndef AGENT_TESTING_AGENT_FIXTURE_H_
#define AGENT_TESTING_AGENT_FIXTURE_H_

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/agent.h"
#include "agent/testing/fake_transport.h"
#include "agent/testing/toy_program.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {

// Tests act as the server, through a FakeTransport, and as the program, through
// the agent's own functions.
class AgentFixture : public testing::Test {
 protected:
  AgentFixture() {
    config_.enabled = true;
    config_.job = "job";
    config_.wait = false;
    // It is interested in nodes that tests expect to be left alone.
    config_.overview = false;
  }

  // Opens the agent and connects it. The server announces `watchpoints`.
  void Run(uint32_t watchpoints = 0) {
    auto transport = std::make_unique<FakeTransport>();
    server_ = transport.get();
    const graphdbg_host callbacks = host_.host();
    agent_ =
        std::make_unique<Agent>(config_, identity_, Host(&callbacks),
                                std::move(transport), nullptr, open_recording_);
    agent_->Open();
    agent_->Dial();
    server_->Connect(watchpoints);
  }

  uint32_t Declare(const std::string& name,
                   graphdbg_node_kind kind = GRAPHDBG_OP) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = kind;
    info.category =
        kind == GRAPHDBG_PARAMETER ? GRAPHDBG_WEIGHT : GRAPHDBG_OTHER;
    return *agent_->DeclareNode(info);
  }

  // Reports an execution if the agent is interested. Returns whether it was.
  bool Execute(uint32_t node, const std::vector<float>& values,
               uint32_t flags = 0, uint64_t storage = 0,
               const std::vector<graphdbg_input>& inputs = {}) {
    if (!agent_->Interest(node)) return false;
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    const graphdbg_tensor output = TensorOf(values, shape, storage);
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.flags = flags;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = 1;
    EXPECT_EQ(agent_->Executed(execution), GRAPHDBG_OK);
    return true;
  }

  // The same for an op on a device that is emulated by a stub. `input` is the
  // output of `producer`.
  graphdbg_status ExecuteOn(graphdbg_device kind, int32_t device_id,
                            uint32_t node, const std::vector<float>& values,
                            uint32_t producer = 0,
                            const std::vector<float>* input = nullptr) {
    if (!agent_->Interest(node)) return GRAPHDBG_OK;
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    graphdbg_tensor output = TensorOf(values, shape);
    output.device = kind;
    output.device_id = device_id;
    graphdbg_input in = {producer, 0, {}};
    if (input != nullptr) in.tensor = TensorOf(*input, shape);
    in.tensor.struct_size = sizeof(in.tensor);
    in.tensor.device = kind;
    in.tensor.device_id = device_id;
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.inputs = &in;
    execution.input_count = producer != 0 ? 1 : 0;
    execution.outputs = &output;
    execution.output_count = 1;
    return agent_->Executed(execution);
  }

  // Runs `body` on another thread until it stops at the gate.
  template <class Body>
  std::future<void> Stop(Body body) {
    auto done = std::async(std::launch::async, std::move(body));
    server_->WaitForPause();
    return done;
  }
  // Continues the program and waits until the body is done.
  void Resume(std::future<void>* stopped) {
    server_->Continue();
    stopped->get();
  }

  // Starts a program that waits for the user, and lets it run this many steps.
  // It calls `step` in each, and stops at the end of the last.
  template <class Body>
  std::future<void> StepTo(uint64_t steps, Body step) {
    auto trained = std::async(std::launch::async, [this, steps, step] {
      EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
      for (uint64_t i = 0; i < steps; ++i) {
        step();
        EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
      }
    });
    server_->WaitForPause();
    v1::Command command;
    command.mutable_step()->set_steps(steps);
    server_->Command(command);
    server_->WaitForPause();
    return trained;
  }

  OpenRecordingFunction open_recording_;
  Config config_;
  Identity identity_;
  ToyHost host_;
  std::unique_ptr<Agent> agent_;
  // Owned by the agent.
  FakeTransport* server_ = nullptr;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_AGENT_FIXTURE_H_
