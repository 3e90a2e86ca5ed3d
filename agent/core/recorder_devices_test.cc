// Recording of tensors on an emulated GPU.
#include <gtest/gtest.h>

#include <vector>

#include "agent/kernels/cuda/image.h"
#include "agent/testing/recorder_fixture.h"
#include "agent/testing/stub_control.h"

namespace graphdbg::agent {
namespace {

using testing_support::StubLibrary;

StubLibrary& Stub() {
  static auto* stub = new StubLibrary("agent/testing/stubs/libcuda.so.1");
  return *stub;
}

class RecorderDevicesTest : public RecorderFixture {
 protected:
  void SetUp() override {
    Stub().Reset();
    if (cuda::KernelImage().size == 0) GTEST_SKIP() << "built without nvcc";
    on_gpu_.device = GRAPHDBG_CUDA;
  }

  Options on_gpu_;
};

TEST_F(RecorderDevicesTest, WaitsForTheDeviceAtTheEndOfTheStepOnly) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t first = Op("first");
  const uint32_t second = Op("second");
  const std::vector<float> a = {1, 2}, b = {3, 5};
  Execute(first, a, on_gpu_);
  Execute(second, b, on_gpu_);
  Execute(second, b, on_gpu_);
  EXPECT_TRUE(recorded_.values.empty());
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 3u);
  EXPECT_EQ(recorded_.values[0].key.node, first);
  EXPECT_EQ(recorded_.values[0].statistics.mean, 1.5);
  EXPECT_EQ(recorded_.values[0].key.flags, runs::kFlagDevice);
  EXPECT_EQ(recorded_.values[2].key.node, second);
  EXPECT_EQ(recorded_.values[2].statistics.max, 5);
  EXPECT_EQ(recorded_.marks.back().mark.records, 3u);
}

TEST_F(RecorderDevicesTest, EvaluationEndsWithItsValues) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  const std::vector<float> values = {1};
  agent_->BeginPass(GRAPHDBG_EVAL, true);
  Execute(op, values, on_gpu_);
  agent_->EndPass();
  ASSERT_EQ(recorded_.values.size(), 1u);
  EXPECT_EQ(recorded_.values[0].key.mode, runs::Mode::kEval);
  EXPECT_EQ(recorded_.marks.back().mark.records, 1u);
}

TEST_F(RecorderDevicesTest, SavesValuesAtTheEndOfTheStep) {
  Open(R"({"collections": [{"name": "all", "level": "tensors"}]})");
  const uint32_t op = Op("op");
  std::vector<float> values = {1, 2};
  Execute(op, values, on_gpu_);
  // Memory that is used again.
  values = {3, 4};
  Execute(op, values, on_gpu_);
  EXPECT_TRUE(recorded_.tensors.empty());
  EndStep();
  ASSERT_EQ(recorded_.tensors.size(), 2u);
  EXPECT_EQ(recorded_.tensors[0].values, std::vector<float>({1, 2}));
  EXPECT_EQ(recorded_.tensors[1].values, std::vector<float>({3, 4}));
}

TEST_F(RecorderDevicesTest, HasMoreTensorsThanTheDeviceHasRoomFor) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  const std::vector<float> values = {1};
  constexpr size_t kMany = 10'000;
  for (size_t i = 0; i < kMany; ++i) Execute(op, values, on_gpu_);
  EndStep();
  EXPECT_EQ(recorded_.values.size(), kMany);
}

}  // namespace
}  // namespace graphdbg::agent
