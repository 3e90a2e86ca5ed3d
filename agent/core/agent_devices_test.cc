// A program with tensors on an emulated GPU: which checks wait for the device,
// and that those that do not wait find the same.
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "agent/kernels/cuda/image.h"
#include "agent/testing/agent_fixture.h"
#include "agent/testing/stub_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;
using testing_support::StubLibrary;

const float kNan = std::nanf("");
constexpr float kInf = std::numeric_limits<float>::infinity();

// How often the agent waits for a stream of its own while it opens a device.
constexpr int kAtOpening = 1;

StubLibrary& Stub() {
  static auto* stub = new StubLibrary("agent/testing/stubs/libcuda.so.1");
  return *stub;
}

class AgentDevicesTest : public AgentFixture {
 protected:
  void SetUp() override {
    Stub().Reset();
    if (cuda::KernelImage().size == 0) GTEST_SKIP() << "built without nvcc";
    Run(1);
    first_ = Declare("first");
    second_ = Declare("second");
  }

  graphdbg_status ExecuteOnGpu(uint32_t node, const std::vector<float>& values,
                               uint32_t producer = 0,
                               const std::vector<float>* input = nullptr,
                               int32_t device_id = 0) {
    return ExecuteOn(GRAPHDBG_CUDA, device_id, node, values, producer, input);
  }

  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

TEST_F(AgentDevicesTest, PauseAtTheStepsEndWaitsOnlyThere) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_STEP);
  std::vector<float> good = {1, 2}, bad = {1, 2}, worse = {kNan, kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  Stub().Hold(true);
  EXPECT_EQ(ExecuteOnGpu(first_, good), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, bad, first_, &good), GRAPHDBG_OK);
  const uint32_t third = Declare("third");
  EXPECT_EQ(ExecuteOnGpu(third, worse, second_, &bad), GRAPHDBG_OK);
  EXPECT_EQ(Stub().CallsOf("cuStreamSynchronize"), kAtOpening);
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), 3);
  // The device executes the measurement only now.
  bad[1] = kNan;
  auto stopped = Stop([this] { EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK); });
  Resume(&stopped);
  EXPECT_GT(Stub().CallsOf("cuStreamSynchronize"), kAtOpening);
}

TEST_F(AgentDevicesTest, TheFirstOffendingNodeIsTheOriginThoughNothingWaited) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NONE);
  const std::vector<float> good = {1, 2}, bad = {1, kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  Stub().Hold(true);
  const uint32_t third = Declare("third");
  EXPECT_EQ(ExecuteOnGpu(first_, good), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, bad, first_, &good), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(third, bad, second_, &bad), GRAPHDBG_OK);
  // No watchpoint stops there, so nothing is waited for.
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  EXPECT_EQ(Stub().CallsOf("cuStreamSynchronize"), kAtOpening);
  // The device executes the measurement; the agent's thread completes the
  // check.
  Stub().FinishAll();
  const v1::Hit origin = server_->WaitForHit();
  EXPECT_EQ(origin.node_id(), second_);
  EXPECT_EQ(origin.step(), 1u);
  EXPECT_EQ(origin.origin(), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(origin.statistics().nan_count(), 1u);
  const v1::Hit next = server_->WaitForHit();
  EXPECT_EQ(next.node_id(), third);
  EXPECT_EQ(next.origin(), v1::HIT_ORIGIN_PROPAGATED);
  EXPECT_LT(origin.order(), next.order());
}

TEST_F(AgentDevicesTest, PauseAtTheNodeStopsThere) {
  server_->Watch(1, "nan", "second", v1::PAUSE_MODE_NODE);
  const std::vector<float> good = {1, 2}, bad = {1, kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(first_, good), GRAPHDBG_OK);
  // Tensors that are not watched are not waited for.
  EXPECT_EQ(Stub().CallsOf("cuStreamSynchronize"), 0);
  auto stopped = Stop([&] {
    EXPECT_EQ(ExecuteOnGpu(second_, bad, first_, &good), GRAPHDBG_OK);
  });
  Resume(&stopped);
}

TEST_F(AgentDevicesTest, StatesTellWhereTheTensorsAre) {
  server_->Watch(1, "nan", "second", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  auto stopped = std::async(std::launch::async, [this] {
    EXPECT_EQ(ExecuteOnGpu(second_, {kNan}), GRAPHDBG_OK);
  });
  const v1::StateUpdate pause = server_->WaitForPause();
  EXPECT_EQ(pause.device(), "cuda");
  EXPECT_EQ(pause.device_id(), 0);
  Resume(&stopped);
}

TEST_F(AgentDevicesTest,
       ResultsOfSeveralStreamsAreJudgedInTheOrderOfExecution) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NONE);
  const std::vector<float> bad = {kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  Stub().Hold(true);
  char slow, fast;
  host_.SetStream(&slow);
  EXPECT_EQ(ExecuteOnGpu(first_, bad), GRAPHDBG_OK);
  host_.SetStream(&fast);
  EXPECT_EQ(ExecuteOnGpu(second_, bad), GRAPHDBG_OK);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  // The node that executed first is still the first hit.
  Stub().Finish(&fast);
  Stub().Finish(&slow);
  EXPECT_EQ(server_->WaitForHit().node_id(), first_);
  EXPECT_EQ(server_->WaitForHit().node_id(), second_);
}

TEST_F(AgentDevicesTest, AnInfinityWaitsForItsReadersOnTheDeviceToo) {
  server_->Watch(1, "inf", "", v1::PAUSE_MODE_STEP);
  const std::vector<float> bad = {kInf, 1}, good = {0, 1}, sum = {kInf};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(first_, bad), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, good, first_, &bad), GRAPHDBG_OK);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  EXPECT_TRUE(server_->WaitForHit().absorbed());
  // In the next step it is passed on.
  EXPECT_EQ(ExecuteOnGpu(first_, bad), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, sum, first_, &bad), GRAPHDBG_OK);
  auto ended = std::async(std::launch::async, [this] {
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  });
  for (const uint32_t node : {first_, second_}) {
    const v1::Hit hit = server_->WaitForHit();
    EXPECT_EQ(hit.node_id(), node);
    EXPECT_FALSE(hit.absorbed());
  }
  server_->WaitForPause();
  Resume(&ended);
}

TEST_F(AgentDevicesTest, EachDeviceHasItsOwnContextAndMemory) {
  server_->Watch(1, "tensor_not_changed", "", v1::PAUSE_MODE_STEP);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  const std::vector<float> values = {1, 2};
  const auto execute = [&] {
    EXPECT_EQ(ExecuteOnGpu(first_, values), GRAPHDBG_OK);
    EXPECT_EQ(ExecuteOnGpu(second_, values, 0, nullptr, 1), GRAPHDBG_OK);
  };
  execute();
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  EXPECT_EQ(Stub().CallsOf("cuDevicePrimaryCtxRetain"), 2);
  execute();
  auto stopped = std::async(std::launch::async, [this] {
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  });
  EXPECT_EQ(server_->WaitForHit().node_id(), first_);
  EXPECT_EQ(server_->WaitForHit().node_id(), second_);
  server_->WaitForPause();
  Resume(&stopped);
}

TEST_F(AgentDevicesTest, CapturedGraphsAreLeftAloneAndThatIsSaid) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  const std::vector<float> bad = {kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(first_, {1}), GRAPHDBG_OK);
  const int launches = Stub().CallsOf("cuLaunchKernel");
  Stub().Capture(true);
  EXPECT_EQ(ExecuteOnGpu(first_, bad), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, bad), GRAPHDBG_OK);
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), launches);
  const v1::AgentMessage sent = server_->WaitFor(
      [](const v1::AgentMessage& message) { return message.has_log(); });
  EXPECT_THAT(sent.log().message(), HasSubstr("captured into a CUDA graph"));
}

TEST_F(AgentDevicesTest, ChangesSinceTheStepBeforeAreFoundOnTheDevice) {
  server_->Watch(1, "tensor_not_changed", "first", v1::PAUSE_MODE_NONE);
  const std::vector<float> once = {1, 2}, again = {1, 3};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  for (const auto* values : {&once, &again, &again}) {
    EXPECT_EQ(ExecuteOnGpu(first_, *values), GRAPHDBG_OK);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }
  EXPECT_EQ(server_->WaitForHit().step(), 3u);
  EXPECT_GE(Stub().CallsOf("cuMemcpyDtoDAsync"), 3);
  // No values were copied to the host.
  EXPECT_EQ(Stub().CallsOf("cuMemcpyDtoHAsync"), 0);
}

TEST_F(AgentDevicesTest, AFullDeviceHasItsPreviousValuesOnTheHost) {
  server_->Watch(1, "tensor_not_changed", "first", v1::PAUSE_MODE_NONE);
  const std::vector<float> values = {1, 2};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(first_, {5, 5}), GRAPHDBG_OK);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  Stub().Fail("cuMemAlloc", 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ExecuteOnGpu(first_, values), GRAPHDBG_OK);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }
  EXPECT_EQ(server_->WaitForHit().step(), 3u);
}

TEST_F(AgentDevicesTest, AStopShowsValuesOfTheDevice) {
  server_->Watch(1, "nan", "second", v1::PAUSE_MODE_NODE);
  const std::vector<float> bad = {1, kNan, 3, 4};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  auto stopped =
      Stop([&] { EXPECT_EQ(ExecuteOnGpu(second_, bad), GRAPHDBG_OK); });
  const v1::TensorData data =
      server_->Tensor("second", v1::TensorRequest::VERSION_CURRENT, "[::2]");
  EXPECT_FALSE(data.has_error()) << data.error().message();
  ASSERT_EQ(data.data().size(), 8u);
  float values[2];
  std::memcpy(values, data.data().data(), 8);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 3);
  Resume(&stopped);
}

// Stops before the first step and at its end.
class SteppedDevicesTest : public AgentDevicesTest {
 protected:
  SteppedDevicesTest() { config_.wait = true; }
};

TEST_F(SteppedDevicesTest, ARecheckMeasuresOnTheDevice) {
  server_->Watch(1, "nan", "second", v1::PAUSE_MODE_NODE);
  const std::vector<float> values = {std::numeric_limits<float>::infinity()};
  auto trained =
      StepTo(1, [&] { EXPECT_EQ(ExecuteOnGpu(first_, values), GRAPHDBG_OK); });
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), 0);
  server_->Watch(2, "inf", "first", v1::PAUSE_MODE_NODE);
  v1::Command recheck;
  recheck.mutable_recheck()->add_watchpoints(2);
  server_->Command(recheck);
  EXPECT_EQ(server_->WaitForHit().node_id(), first_);
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), 1);
  EXPECT_EQ(Stub().CallsOf("cuMemcpyDtoHAsync"), 0);
  Resume(&trained);
}

TEST_F(AgentDevicesTest, ADeviceThatIsFarBehindLosesNoResult) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NONE);
  // Each needs more than one block.
  const std::vector<float> large(100000, kNan);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  Stub().Hold(true);
  constexpr int kExecutions = 150;
  for (int i = 0; i < kExecutions; ++i) {
    EXPECT_EQ(ExecuteOnGpu(first_, large), GRAPHDBG_OK);
  }
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  Stub().FinishAll();
  uint64_t order = 0;
  for (int i = 0; i < kExecutions; ++i) {
    const v1::Hit hit = server_->WaitForHit();
    EXPECT_GT(hit.order(), order);
    order = hit.order();
  }
}

TEST_F(AgentDevicesTest, AnErrorOfTheDeviceHarmsNothing) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_STEP);
  const std::vector<float> bad = {kNan};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(first_, bad), GRAPHDBG_OK);
  Stub().Fail("cuStreamSynchronize", 700);
  Stub().Hold(true);
  EXPECT_EQ(ExecuteOnGpu(second_, bad), GRAPHDBG_OK);
  Stub().Fail("cuLaunchKernel", 700);
  EXPECT_EQ(ExecuteOnGpu(second_, bad), GRAPHDBG_OK);
  Stub().Reset();
  // While the values exist.
  Stub().FinishAll();
}

TEST_F(AgentDevicesTest, ThatADeviceFailedIsSaid) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  const std::vector<float> good = {1};
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  Stub().Fail("cuStreamSynchronize", 700, kAtOpening);
  EXPECT_EQ(ExecuteOnGpu(first_, good), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnGpu(second_, good), GRAPHDBG_OK);
  const v1::AgentMessage sent = server_->WaitFor(
      [](const v1::AgentMessage& message) { return message.has_log(); });
  EXPECT_THAT(sent.log().message(),
              HasSubstr("tensors on GPU 0 are no longer checked: "
                        "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(AgentDevicesTest, WhatHasNoLibraryIsSaidAndNotChecked) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOn(GRAPHDBG_NPU, 0, first_, {kNan}), GRAPHDBG_OK);
  const v1::AgentMessage sent = server_->WaitFor(
      [](const v1::AgentMessage& message) { return message.has_log(); });
  EXPECT_THAT(sent.log().message(),
              HasSubstr("tensors on NPU 0 are not checked: libascendcl.so"));
}

}  // namespace
}  // namespace graphdbg::agent
