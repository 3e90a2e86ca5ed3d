// The steps that the agent reports for the overview, and how it measures them.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "agent/core/overview.h"
#include "agent/core/sampled_tensor.h"
#include "agent/testing/agent_fixture.h"

namespace graphdbg::agent {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

class AgentOverviewTest : public AgentFixture {
 protected:
  AgentOverviewTest() { config_.overview = true; }

  // A module "forward/m" with a result, and a step of the program.
  void Start() {
    Run();
    ASSERT_TRUE(agent_->DeclareScope("", "forward/m", "ReLU").ok());
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = "forward/m/relu";
    info.kind = GRAPHDBG_OP;
    info.category = GRAPHDBG_ACTIVATION;
    result_ = *agent_->DeclareNode(info);
    ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
  }
  void TakeStep(const std::vector<float>& values) {
    Execute(result_, values);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }
  v1::OverviewStep NextOverview() {
    return server_
        ->WaitFor([](const v1::AgentMessage& m) { return m.has_overview(); })
        .overview();
  }

  uint32_t result_ = 0;
};

TEST_F(AgentOverviewTest, ReportsTheResultsOfModules) {
  Start();
  TakeStep({0, -1, 3, 2});
  const v1::OverviewStep step = NextOverview();
  EXPECT_EQ(step.step(), 1u);
  EXPECT_GT(step.duration_ns(), 0u);
  ASSERT_EQ(step.tensors_size(), 1);
  const v1::OverviewTensor& tensor = step.tensors(0);
  EXPECT_EQ(tensor.node_id(), result_);
  EXPECT_EQ(tensor.role(), v1::OVERVIEW_ROLE_ACTIVATION);
  EXPECT_EQ(tensor.count(), 4u);
  EXPECT_EQ(tensor.zero_count(), 1u);
  EXPECT_FLOAT_EQ(tensor.mean(), 1);
  EXPECT_FLOAT_EQ(tensor.abs_mean(), 1.5);
  EXPECT_THAT(tensor.quantiles(), ElementsAre(-1, 0, 2, 2, 3));
}

TEST_F(AgentOverviewTest, ReportsHowLongOpsTook) {
  Start();
  agent_->BeginOp(result_);
  agent_->EndOp();
  // Unknown, and so not an op.
  agent_->BeginOp(result_ + 1);
  agent_->EndOp();
  TakeStep({1});
  const v1::OverviewStep step = NextOverview();
  EXPECT_THAT(step.ops().node_ids(), ElementsAre(result_));
  EXPECT_THAT(step.ops().threads(), ElementsAre(0));
  EXPECT_LE(step.ops().start_ns(0) + step.ops().duration_ns(0),
            step.duration_ns());
}

TEST_F(AgentOverviewTest, ReportsAResultAfterStepsThatHadNone) {
  Start();
  constexpr uint64_t kStepsWithout = 20;
  for (uint64_t step = 0; step < kStepsWithout; ++step) {
    ASSERT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }
  // By then, it looks for results every 0.1 s only, so steps have to take time.
  constexpr uint64_t kLastStep = kStepsWithout + 500;
  uint64_t reported = 0;
  for (uint64_t step = kStepsWithout + 1; step <= kLastStep; ++step) {
    const bool is_followed = Execute(result_, {1});
    ASSERT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
    if (is_followed) {
      reported = step;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_NE(reported, 0u) << "the overview never looked again";
  EXPECT_EQ(NextOverview().step(), reported);
}

TEST_F(AgentOverviewTest, WhatIsRepeatedForItCountsAsItsCost) {
  Start();
  agent_->AddRepetition(std::chrono::hours(1));
  TakeStep({1});
  EXPECT_GE(NextOverview().measuring_ns(), 3'600'000'000'000u);
  EXPECT_FALSE(Execute(result_, {1}));
}

TEST_F(AgentOverviewTest, WhatIsRepeatedForAWatchpointIsNotItsCost) {
  Start();
  server_->Watch(1, "tensor_all_zero");
  agent_->AddRepetition(std::chrono::hours(1));
  TakeStep({1});
  EXPECT_LT(NextOverview().measuring_ns(), 3'600'000'000'000u);
}

TEST_F(AgentOverviewTest, ReportsNothingIfItIsSwitchedOff) {
  config_.overview = false;
  Start();
  TakeStep({1});
  EXPECT_FALSE(Execute(result_, {1}));
}

TEST_F(AgentOverviewTest, OnlyTheFirstRanksReport) {
  config_.rank = 8;
  config_.world_size = 9;
  Start();
  TakeStep({1});
  EXPECT_FALSE(Execute(result_, {1}));
}

TEST(SampledTensorTest, LargeTensorsAreRepresentedByBlocks) {
  std::vector<float> values(1 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const int64_t shape[] = {1 << 20};
  const graphdbg_tensor whole = TensorOf(values, shape);
  const SampledTensor sampled(whole, /*samples=*/true);
  const graphdbg_tensor& sample = sampled.tensor();
  ASSERT_EQ(sample.ndim, 2u);
  EXPECT_EQ(sample.shape[0] * sample.shape[1],
            SampledTensor::kBlocks * SampledTensor::kBlockElements);
  EXPECT_EQ(sample.strides[0], int64_t{1} << 14);
  EXPECT_EQ(sample.data, whole.data);
  EXPECT_EQ(SampledTensor(whole, /*samples=*/false).tensor().shape, shape);
}

TEST(SampledTensorTest, SmallTensorsAreTakenWhole) {
  const std::vector<float> values = {1, 2, 3};
  const int64_t shape[] = {3};
  const graphdbg_tensor whole = TensorOf(values, shape);
  EXPECT_EQ(SampledTensor(whole, /*samples=*/true).tensor().shape, shape);
}

TEST(QuantilesTest, AreThoseOfTheFiniteValues) {
  std::vector<float> values = {NAN, INFINITY};
  const int64_t two[] = {2};
  EXPECT_FALSE(QuantilesOf(TensorOf(values, two)).has_value());
  values.clear();
  for (int i = 100; i >= 0; --i) values.push_back(static_cast<float>(i));
  values.push_back(NAN);
  const int64_t shape[] = {102};
  EXPECT_THAT(
      QuantilesOf(TensorOf(values, shape)),
      testing::Optional(ElementsAre(FloatEq(5), FloatEq(25), FloatEq(50),
                                    FloatEq(75), FloatEq(95))));
}

}  // namespace
}  // namespace graphdbg::agent
