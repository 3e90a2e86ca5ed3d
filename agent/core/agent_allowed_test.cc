// An agent whose owner limits what a server may order, with servers that order
// more.
#include <cmath>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kRefused[] = "not_allowed_by_job";

class AgentAllowedTest : public AgentFixture {
 protected:
  void Allow(bool view, bool control, bool terminate) {
    config_.allowed = {view, control, terminate, false, {}};
    Run();
    node_ = Declare("a");
    EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  }

  // The reason with which the agent refuses the command; empty if it does not.
  std::string Refusal(const v1::Command& command) {
    return server_->WaitForResult(server_->Command(command)).error().reason();
  }

  void ExecuteStep() {
    const std::vector<float> values = {1};
    Execute(node_, values);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }

  // Pauses the program in the next execution of the node.
  std::future<void> PauseInStep(const std::vector<float>& values) {
    v1::Command pause;
    pause.mutable_pause();
    server_->Command(pause);
    return Stop([this, &values] {
      Execute(node_, values);
      EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
    });
  }

  uint32_t node_ = 0;
};

std::vector<v1::Command> ControlCommands() {
  std::vector<v1::Command> commands(6);
  commands[0].mutable_continue_();
  commands[1].mutable_step()->set_steps(1);
  commands[2].mutable_next_node();
  commands[3].mutable_continue_to()->set_node("a");
  commands[4].mutable_pause();
  commands[5].mutable_recheck()->add_watchpoints(1);
  return commands;
}

TEST_F(AgentAllowedTest, WithoutControlNoCommandStopsTheProgram) {
  Allow(/*view=*/true, /*control=*/false, /*terminate=*/false);
  for (const v1::Command& command : ControlCommands()) {
    EXPECT_EQ(Refusal(command), kRefused) << command.ShortDebugString();
    // Would block if the command had been accepted.
    ExecuteStep();
  }
}

TEST_F(AgentAllowedTest, WithoutControlNoWatchpointIsChecked) {
  Allow(/*view=*/true, /*control=*/false, /*terminate=*/true);
  EXPECT_EQ(server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE).error().reason(),
            kRefused);
  const std::vector<float> bad = {std::nanf("")};
  Execute(node_, bad);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_STEPS);
}

TEST_F(AgentAllowedTest, WithoutTerminateTheProgramGoesOn) {
  Allow(/*view=*/true, /*control=*/true, /*terminate=*/false);
  v1::Command terminate;
  terminate.mutable_terminate();
  EXPECT_EQ(Refusal(terminate), kRefused);
  ExecuteStep();
}

TEST_F(AgentAllowedTest, TerminateAloneIsEnoughToTerminate) {
  Allow(/*view=*/false, /*control=*/false, /*terminate=*/true);
  v1::Command terminate;
  terminate.mutable_terminate();
  EXPECT_EQ(Refusal(terminate), "");
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_TERMINATE);
}

TEST_F(AgentAllowedTest, WithoutViewNoValueIsSent) {
  Allow(/*view=*/false, /*control=*/true, /*terminate=*/true);
  v1::ServerMessage message;
  message.mutable_catch_tensor()->set_node("a");
  server_->Send(message);
  const std::vector<float> values = {1, 2};
  // Nobody may have caught it.
  Execute(node_, values);
  EXPECT_EQ(host_.retained(), 0);
  auto stopped = PauseInStep(values);
  const v1::TensorData answer = server_->Tensor("a");
  EXPECT_EQ(answer.error().reason(), kRefused);
  EXPECT_EQ(answer.data(), "");
  EXPECT_FALSE(answer.has_header());
  Resume(&stopped);
}

TEST_F(AgentAllowedTest, RedactedValuesAreNotSent) {
  config_.allowed.redacted = conditions::PatternSet({"embed*"});
  Run();
  const uint32_t hidden = Declare("embedding");
  const uint32_t shown = Declare("fc");
  ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
  const std::vector<float> values = {1, 2};
  v1::Command pause;
  pause.mutable_pause();
  server_->Command(pause);
  auto stopped = Stop([&] {
    Execute(shown, values);
    Execute(hidden, values);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  });
  const v1::TensorData refused = server_->Tensor("embedding");
  EXPECT_EQ(refused.error().reason(), kRefused);
  EXPECT_THAT(refused.error().message(), HasSubstr("GRAPHDBG_REDACT"));
  EXPECT_EQ(refused.data(), "");
  EXPECT_FALSE(server_->Tensor("fc").has_error());
  Resume(&stopped);
}

TEST_F(AgentAllowedTest, RedactedValuesAreNotTheTextOfAChange) {
  config_.allowed.redacted = conditions::PatternSet({"embed*"});
  Run();
  node_ = Declare("embedding");
  ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
  std::vector<float> values = {1, 2};
  auto stopped = PauseInStep(values);
  v1::TensorRequest request;
  request.set_node("embedding");
  request.mutable_change()->mutable_set_values()->add_values(7);
  const v1::TensorData changed = server_->Ask(request);
  EXPECT_EQ(changed.data(), "embedding:0: 2 elements set to 7")
      << changed.error().message();
  Resume(&stopped);
  EXPECT_EQ(values[1], 7);
}

TEST_F(AgentAllowedTest, StatisticsNeedNoPermission) {
  Allow(/*view=*/false, /*control=*/true, /*terminate=*/true);
  const std::vector<float> values = {1, 2};
  auto stopped = PauseInStep(values);
  v1::ServerMessage message;
  message.mutable_tensor_request()->set_request_id(77);
  message.mutable_tensor_request()->set_node("a");
  message.mutable_tensor_request()->set_want_statistics(true);
  server_->Send(message);
  const v1::AgentMessage answer =
      server_->WaitFor([](const v1::AgentMessage& m) {
        return m.has_tensor() && m.tensor().request_id() == 77;
      });
  EXPECT_FALSE(answer.tensor().has_error())
      << answer.tensor().error().message();
  EXPECT_EQ(answer.tensor().header().statistics().max(), 2);
  EXPECT_EQ(answer.tensor().data(), "");
  Resume(&stopped);
}

TEST_F(AgentAllowedTest, TheServerIsToldTheLimit) {
  Config config;
  EXPECT_FALSE(
      MakeHello(config, Identity{}, "x", std::nullopt, true).has_allowed());
  config.allowed.terminate = false;
  const v1::Hello hello =
      MakeHello(config, Identity{}, "x", std::nullopt, true);
  EXPECT_TRUE(hello.allowed().view());
  EXPECT_TRUE(hello.allowed().control());
  EXPECT_FALSE(hello.allowed().terminate());
}

}  // namespace
}  // namespace graphdbg::agent
