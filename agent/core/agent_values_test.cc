// The values that are available at a pause: those of the previous step,
// requested ones, and large ones or those with unusual shapes.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kPrevious = v1::TensorRequest::VERSION_PREVIOUS;

std::vector<float> FloatsOf(const v1::TensorData& data) {
  EXPECT_FALSE(data.has_error()) << data.error().message();
  std::vector<float> values(data.data().size() / sizeof(float));
  std::memcpy(values.data(), data.data().data(), data.data().size());
  return values;
}

class AgentValuesTest : public AgentFixture {
 protected:
  AgentValuesTest() { config_.wait = true; }

  // Declares a parameter with these values.
  uint32_t Bind(std::vector<float>* values) {
    const uint32_t node = Declare("weight", GRAPHDBG_PARAMETER);
    host_.SetBound(this, values);
    EXPECT_TRUE(agent_->BindTensor(node, this).ok());
    return node;
  }

  void Catch(const std::string& node) {
    v1::ServerMessage message;
    message.mutable_catch_tensor()->set_node(node);
    server_->Send(message);
  }

  // Stops before the first step, then steps and continues.
  std::future<void> Train(std::function<void()> step, int steps) {
    return Stop([this, step = std::move(step), steps] {
      EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
      for (int i = 0; i < steps; ++i) {
        step();
        EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
      }
    });
  }
  void StepOnce() {
    v1::Command command;
    command.mutable_step()->set_steps(1);
    server_->Command(command);
    server_->WaitForPause();
  }
};

TEST_F(AgentValuesTest, SteppingHasTheParametersOfTheStepBefore) {
  Run();
  std::vector<float> weight = {1, 2};
  Bind(&weight);
  auto trained = Train([&] { weight[0] += 1; }, 2);
  EXPECT_EQ(server_->Tensor("weight", kPrevious).error().reason(),
            "value_gone");
  StepOnce();
  StepOnce();
  EXPECT_THAT(FloatsOf(server_->Tensor("weight")), ElementsAre(3, 2));
  const v1::TensorData before = server_->Tensor("weight", kPrevious);
  EXPECT_EQ(before.header().step(), 1u);
  EXPECT_THAT(FloatsOf(before), ElementsAre(2, 2));
  EXPECT_THAT(FloatsOf(server_->Tensor("weight", kPrevious, "[1:]")),
              ElementsAre(2));
  Resume(&trained);
}

TEST_F(AgentValuesTest, AProgramThatRunsFreelyKeepsNoCopies) {
  Run();
  std::vector<float> weight = {1};
  const uint32_t node = Declare("a");
  Bind(&weight);
  const std::vector<float> good = {1}, bad = {std::nanf("")};
  int step = 0;
  auto trained = Train([&] { Execute(node, ++step == 3 ? bad : good); }, 3);
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  server_->Continue();
  EXPECT_EQ(server_->WaitForPause().step(), 3u);
  const v1::TensorData gone = server_->Tensor("weight", kPrevious);
  EXPECT_EQ(gone.error().reason(), "value_gone");
  EXPECT_THAT(gone.error().message(), HasSubstr("step once"));
  Resume(&trained);
}

TEST_F(AgentValuesTest, ConditionsCompareParametersWithTheStepBefore) {
  Run();
  std::vector<float> weight = {1, 2};
  const uint32_t node = Bind(&weight);
  int step = 0;
  auto trained = Train([&] { weight[0] += ++step == 3 ? 0 : 1; }, 4);
  EXPECT_EQ(
      server_->Watch(1, "weight_not_changed", "weight", v1::PAUSE_MODE_STEP)
          .error()
          .message(),
      "");
  server_->Continue();
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.node_id(), node);
  EXPECT_EQ(hit.step(), 3u);
  server_->WaitForPause();
  EXPECT_THAT(FloatsOf(server_->Tensor("weight", kPrevious)),
              ElementsAre(3, 2));
  Resume(&trained);
}

TEST_F(AgentValuesTest, ConditionsCompareOutputsWithTheStepBefore) {
  Run();
  const uint32_t node = Declare("a");
  std::vector<float> values = {1, 2};
  int step = 0;
  auto trained = Train(
      [&] {
        values[0] += ++step == 3 ? 0 : 1;
        Execute(node, values);
      },
      4);
  EXPECT_EQ(server_->Watch(1, "tensor_not_changed", "a", v1::PAUSE_MODE_NODE)
                .error()
                .message(),
            "");
  server_->Continue();
  EXPECT_EQ(server_->WaitForHit().step(), 3u);
  server_->WaitForPause();
  EXPECT_THAT(FloatsOf(server_->Tensor("a", kPrevious)), ElementsAre(3, 2));
  Resume(&trained);
}

TEST_F(AgentValuesTest, OneStepAfterAWatchpointIsSetOutputsAreCompared) {
  Run();
  const uint32_t node = Declare("a");
  std::vector<float> values = {0};
  auto trained = Train(
      [&] {
        values[0] += 1;
        Execute(node, values);
      },
      3);
  StepOnce();
  EXPECT_EQ(server_->Tensor("a", kPrevious).error().reason(), "value_gone");
  server_->Watch(1, "tensor_not_changed", "a", v1::PAUSE_MODE_NONE);
  StepOnce();
  const v1::TensorData before = server_->Tensor("a", kPrevious);
  EXPECT_EQ(before.header().step(), 1u);
  EXPECT_THAT(FloatsOf(before), ElementsAre(1));
  StepOnce();
  EXPECT_THAT(FloatsOf(server_->Tensor("a", kPrevious)), ElementsAre(2));
  Resume(&trained);
}

TEST_F(AgentValuesTest, PartialMemoryHasWhatIsLookedAt) {
  config_.partial_memory = true;
  Run();
  const uint32_t a = Declare("a");
  const std::vector<float> values = {7};
  auto trained = Train([&] { Execute(a, values); }, 4);
  StepOnce();
  EXPECT_EQ(server_->Tensor("a").error().reason(), "value_gone");
  // A request makes the value available at the next pause, and as long as it is
  // repeated.
  StepOnce();
  EXPECT_THAT(FloatsOf(server_->Tensor("a")), ElementsAre(7));
  StepOnce();
  StepOnce();
  EXPECT_EQ(server_->Tensor("a").error().reason(), "value_gone");
  Resume(&trained);
}

TEST_F(AgentValuesTest, WhatIsCaughtIsThereAtTheNextStop) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  const std::vector<float> values = {7};
  std::promise<void> ran;
  int step = 0;
  std::promise<void> paused;
  auto trained = Train(
      [&] {
        if (++step == 2) {
          ran.set_value();
          paused.get_future().wait();
        }
        // The pause is before `a` executes in this step.
        Execute(b, values);
        Execute(a, values);
      },
      3);
  Catch("a");
  server_->Continue();
  ran.get_future().wait();
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_OPS);
  v1::Command pause;
  pause.mutable_pause();
  server_->Command(pause);
  paused.set_value();
  EXPECT_EQ(server_->WaitForPause().node_id(), b);
  const v1::TensorData caught = server_->Tensor("a");
  EXPECT_THAT(FloatsOf(caught), ElementsAre(7));
  EXPECT_EQ(caught.header().step(), 1u);
  Resume(&trained);
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_STEPS);
  // The agent's thread may still hold the value that it read.
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (host_.retained() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(host_.retained(), 0);
}

// Views of one element have any number of elements without using memory.
TEST_F(AgentValuesTest, MoreElementsThanFourGigaAreCutWhereTheyLie) {
  Run();
  const uint32_t a = Declare("a");
  const float one = 1;
  auto trained = Train(
      [&] {
        ASSERT_TRUE(agent_->Interest(a));
        const int64_t shape[] = {int64_t{1} << 20, int64_t{1} << 14};
        const int64_t strides[] = {0, 0};
        graphdbg_tensor output = TensorOf({one}, shape);
        output.data = &one;
        output.ndim = 2;
        output.strides = strides;
        graphdbg_execution execution = {};
        execution.struct_size = sizeof(execution);
        execution.node = a;
        execution.outputs = &output;
        execution.output_count = 1;
        EXPECT_EQ(agent_->Executed(execution), GRAPHDBG_OK);
      },
      1);
  StepOnce();
  const auto current = v1::TensorRequest::VERSION_CURRENT;
  EXPECT_THAT(FloatsOf(server_->Tensor("a", current, "[-1, 16380:]")),
              ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(server_->Tensor("a", current, "[1048576, 0]").error().reason(),
            "bad_slice");
  Resume(&trained);
}

}  // namespace
}  // namespace graphdbg::agent
