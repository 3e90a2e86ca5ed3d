#include "agent/recording/ring_growth.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace graphdbg::recording {
namespace {

constexpr uint64_t kBytes = uint64_t{1} << 20;
constexpr uint64_t kCapacity = (kBytes - 4096) / 160;
constexpr uint64_t kSteps = 10;

class RingGrowthTest : public testing::Test {
 protected:
  RingGrowthTest() {
    const std::string path = testing::TempDir() + "/growing.gdbr";
    unlink(path.c_str());
    auto ring = Ring::Create(path, kBytes, RingOwner(),
                             Ring::Overwrite::kOldest, runs::kMaxRingBytes);
    EXPECT_TRUE(ring.ok()) << ring.status();
    ring_ = *std::move(ring);
  }

  RingGrowth Growth(uint64_t steps) {
    return RingGrowth(ring_.get(), steps, [this](const std::string& line) {
      lines_.push_back(line);
    });
  }
  void Append(uint64_t records) {
    for (uint64_t i = 0; i < records; ++i) ring_->Append(runs::Record{});
  }

  std::unique_ptr<Ring> ring_;
  std::vector<std::string> lines_;
};

TEST_F(RingGrowthTest, GetsRoomForTheStepsOnceItKnowsWhatTheyNeed) {
  RingGrowth growth = Growth(kSteps);
  Append(kCapacity / 4);
  growth.EndStep();
  growth.Grow();
  EXPECT_EQ(ring_->capacity(), kCapacity);
  Append(kCapacity / 5);
  growth.EndStep();
  growth.Grow();
  EXPECT_GE(ring_->capacity(), (kSteps + 1) * (kCapacity / 4));
  EXPECT_EQ(ring_->bytes() % kBytes, 0u);
  const uint64_t bytes = ring_->bytes();
  growth.Grow();
  EXPECT_EQ(ring_->bytes(), bytes);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(RingGrowthTest, StaysAsItIsIfTheStepsFit) {
  RingGrowth growth = Growth(kSteps);
  for (uint64_t step = 0; step < 3 * kSteps; ++step) {
    Append(kCapacity / (2 * kSteps));
    growth.EndStep();
    growth.Grow();
  }
  EXPECT_EQ(ring_->capacity(), kCapacity);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(RingGrowthTest, DoublesInALongFirstStep) {
  RingGrowth growth = Growth(kSteps);
  Append(kCapacity / 2 + 1);
  growth.Grow();
  EXPECT_GE(ring_->capacity(), 2 * kCapacity);
}

TEST_F(RingGrowthTest, SaysOnceThatItIsTooLate) {
  RingGrowth growth = Growth(kSteps);
  for (int step = 0; step < 3; ++step) {
    Append(kCapacity / 2);
    growth.EndStep();
  }
  growth.Grow();
  growth.Grow();
  EXPECT_EQ(ring_->capacity(), kCapacity);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("keeps the last 2 steps"), std::string::npos)
      << lines_[0];
}

TEST_F(RingGrowthTest, HasAFixedSizeWithoutANumberOfSteps) {
  RingGrowth growth = Growth(0);
  Append(kCapacity - 1);
  growth.EndStep();
  growth.EndStep();
  growth.Grow();
  EXPECT_EQ(ring_->capacity(), kCapacity);
}

}  // namespace
}  // namespace graphdbg::recording
