#include "server/base/memory_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/error.h"

namespace graphdbg {
namespace {

using Pressure = MemoryBudget::Pressure;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class MemoryBudgetTest : public testing::Test {
 protected:
  MemoryBudget& budget() { return *budget_; }

  std::shared_ptr<MemoryBudget> budget_ =
      std::make_shared<MemoryBudget>(100 * kMiB);
};

TEST_F(MemoryBudgetTest, ReservationsCountUntilTheyAreDestroyed) {
  {
    auto one = budget().Reserve(MemoryAccount::kTensors, 10 * kMiB);
    ASSERT_TRUE(one.ok());
    const auto two = budget().Count(MemoryAccount::kEvents, 5);
    EXPECT_EQ(budget().used(), 10 * kMiB + 5);
    EXPECT_EQ(budget().used(MemoryAccount::kTensors), 10 * kMiB);
    EXPECT_EQ(budget().used(MemoryAccount::kEvents), 5u);
    ASSERT_TRUE(one->Resize(2 * kMiB).ok());
    EXPECT_EQ(budget().used(), 2 * kMiB + 5);
  }
  EXPECT_EQ(budget().used(), 0u);
  EXPECT_EQ(budget().used(MemoryAccount::kTensors), 0u);
}

TEST_F(MemoryBudgetTest, AMovedReservationCountsOnce) {
  auto one = budget().Count(MemoryAccount::kJobs, 7);
  MemoryBudget::Reservation two(std::move(one));
  EXPECT_EQ(budget().used(), 7u);
  two = budget().Count(MemoryAccount::kEvents, 3);
  EXPECT_EQ(budget().used(), 3u);
  EXPECT_EQ(budget().used(MemoryAccount::kJobs), 0u);
}

TEST_F(MemoryBudgetTest, OutlivesItsOwner) {
  auto reservation = budget().Count(MemoryAccount::kJobs, 7);
  budget_.reset();
  reservation.Set(9);
}

TEST_F(MemoryBudgetTest, RefusesLargeReservationsBeforeSmallOnes) {
  const auto jobs = budget().Count(MemoryAccount::kJobs, 70 * kMiB);
  const auto large = budget().Reserve(MemoryAccount::kTensors, 6 * kMiB);
  EXPECT_EQ(large.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(large.status()), "out_of_memory_budget");
  EXPECT_EQ(budget().refusals(), 1u);
  EXPECT_TRUE(budget().Reserve(MemoryAccount::kTensors, 5 * kMiB).ok());
  const auto more = budget().Count(MemoryAccount::kJobs, 19 * kMiB);
  auto small = budget().Reserve(MemoryAccount::kResponses, 1'000);
  ASSERT_TRUE(small.ok());
  // A refused change leaves the reservation as it was.
  EXPECT_FALSE(small->Resize(kMiB).ok());
  EXPECT_EQ(small->bytes(), 1'000u);
  EXPECT_EQ(budget().used(MemoryAccount::kResponses), 1'000u);
}

TEST_F(MemoryBudgetTest, RefusesWhatCannotBeAdded) {
  EXPECT_FALSE(budget().Reserve(MemoryAccount::kTensors, UINT64_MAX).ok());
  EXPECT_EQ(budget().used(), 0u);
}

TEST_F(MemoryBudgetTest, PressureRisesWithUse) {
  auto jobs = budget().Count(MemoryAccount::kJobs, 84 * kMiB);
  EXPECT_EQ(budget().pressure(), Pressure::kNone);
  jobs.Set(85 * kMiB);
  EXPECT_EQ(budget().pressure(), Pressure::kForgetEndedJobs);
  jobs.Set(95 * kMiB);
  EXPECT_EQ(budget().pressure(), Pressure::kRefuseJobs);
  jobs.Set(100 * kMiB);
  EXPECT_EQ(budget().pressure(), Pressure::kFull);
}

TEST_F(MemoryBudgetTest, CountsWhatTheProcessUsesBesides) {
  const auto jobs = budget().Count(MemoryAccount::kJobs, 30 * kMiB);
  budget().ObserveProcess(50 * kMiB);
  EXPECT_EQ(budget().used(), 50 * kMiB);
  EXPECT_EQ(budget().used(MemoryAccount::kProcess), 20 * kMiB);
  // Reserved memory need not be in use yet.
  budget().ObserveProcess(10 * kMiB);
  EXPECT_EQ(budget().used(), 30 * kMiB);
  EXPECT_EQ(budget().used(MemoryAccount::kProcess), 0u);
}

TEST_F(MemoryBudgetTest, ReservationsOfSeveralThreadsStayWithinTheLimit) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 2'000; ++round) {
        const auto held = budget().Reserve(MemoryAccount::kTensors, 20 * kMiB);
        EXPECT_LE(budget().used(), 75 * kMiB);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget().used(), 0u);
}

TEST(ResidentBytesTest, SeesMemoryThatIsInUse) {
  const uint64_t before = ResidentBytes();
  const std::string block(64 * kMiB, 'x');
  EXPECT_GT(ResidentBytes(), before + 32 * kMiB);
  EXPECT_EQ(block.back(), 'x');
}

}  // namespace
}  // namespace graphdbg
