#include "agent/recording/tensor_staging.h"

#include <gtest/gtest.h>

#include "agent/recording/staging_buffers.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::recording {
namespace {

// Stands in for the thread that writes, without files.
void ReleaseAll(StagingBuffers* buffers) {
  for (StagingRun run = buffers->Oldest(); run.count > 0;
       run = buffers->Oldest()) {
    if (run.ends_file) run.file->in_use = false;
    buffers->Release(run);
  }
}

class TensorStagingTest : public testing::Test {
 protected:
  // A tensor of one value, repeated.
  bool Save(int64_t elements) {
    const int64_t stride = 0;
    agent::TensorToSave tensor;
    tensor.view = {DType::kFloat64, &value_, 1, &elements, &stride};
    tensor.node_name = "a";
    runs::Record record;
    record.step = 1;
    return staging_.Save(tensor, &record);
  }

  const double value_ = 1;
  TensorStaging staging_{FileOwner(), TensorStaging::Limits(), [] {}};
};

TEST_F(TensorStagingTest, LargeTensorsWaitUntilEarlierOnesAreWritten) {
  constexpr uint64_t kBytes = uint64_t{600} << 20;
  constexpr auto kElements = static_cast<int64_t>(kBytes / sizeof(double));
  ASSERT_TRUE(staging_.HasRoom(kBytes));
  ASSERT_TRUE(Save(kElements));
  EXPECT_FALSE(staging_.HasRoom(kBytes));
  EXPECT_FALSE(Save(kElements));
  // Even though no other tensor has followed in the step.
  ReleaseAll(&staging_.buffers());
  EXPECT_EQ(staging_.buffers().free_extra(), StagingBuffers::kMaxExtra);
  EXPECT_TRUE(staging_.HasRoom(kBytes));
  EXPECT_TRUE(Save(kElements));
}

TEST_F(TensorStagingTest, NobodyWaitsForMoreMemoryThanThereIs) {
  constexpr uint64_t kBytes = uint64_t{2} << 30;
  EXPECT_TRUE(staging_.HasRoom(kBytes));
  EXPECT_FALSE(Save(static_cast<int64_t>(kBytes / sizeof(double))));
}

}  // namespace
}  // namespace graphdbg::recording
