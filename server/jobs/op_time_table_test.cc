#include "server/jobs/op_time_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OpTimeTableTest : public JobFixture {
 protected:
  OpTimeTableTest() { AddNodes(Connect(0, 1), {"forward/a", "backward/b"}); }

  static OpTimeTable::Step Step(uint64_t number) {
    return {number, 9'000, 0, {{0, 0, 100, 50}}};
  }

  OpTimeTable table_;
};

TEST_F(OpTimeTableTest, OpsAreSortedByTheirBegin) {
  table_.Add({7, 9'000, 3, {{1, 1, 500, 20}, {0, 0, 100, 50}}});
  const auto found = table_.OpsOf({}, graph_);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->step, 7u);
  EXPECT_EQ(found->duration_ns, 9'000u);
  EXPECT_EQ(found->left_out, 3u);
  ASSERT_EQ(found->ops.size(), 2u);
  EXPECT_EQ(found->ops[0].node, "forward/a");
  EXPECT_EQ(found->ops[0].duration_ns, 50u);
  EXPECT_EQ(found->ops[1].node, "backward/b");
  EXPECT_EQ(found->ops[1].thread, 1u);
  EXPECT_EQ(found->ops[1].start_ns, 500u);
}

TEST_F(OpTimeTableTest, TheNewestStepsAreKept) {
  for (uint64_t step = 1; step <= OpTimeTable::kMaxNewest + 2; ++step) {
    table_.Add(Step(step));
  }
  const auto newest = table_.OpsOf({}, graph_);
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ(newest->steps.size(), OpTimeTable::kMaxNewest);
  EXPECT_EQ(newest->step, OpTimeTable::kMaxNewest + 2);
  EXPECT_EQ(table_.OpsOf(3, graph_)->step, 3u);
  EXPECT_EQ(ReasonOf(table_.OpsOf(2, graph_).status()), "unknown_step");
}

TEST_F(OpTimeTableTest, StepsOfTheWholeRunAreKeptIfItIsThinnedOut) {
  OpTimeTable table(OpTimeTable::WhenFull::kThinOut);
  constexpr uint64_t kSteps = 3 * OpTimeTable::kMaxThinnedOut;
  for (uint64_t step = 1; step <= kSteps; ++step) table.Add(Step(step));
  const auto newest = table.OpsOf({}, graph_);
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ(newest->steps.size(), kSteps / 4);
  EXPECT_EQ(newest->steps.front(), 1u);
  EXPECT_EQ(newest->steps[1], 5u);
  EXPECT_EQ(newest->step, kSteps - 3);
}

TEST_F(OpTimeTableTest, AProcessThatStartsAgainBeginsAnew) {
  table_.Add(Step(8));
  table_.Add(Step(1));
  table_.Add(Step(1));
  EXPECT_THAT(table_.OpsOf({}, graph_)->steps, ElementsAre(1));
}

TEST_F(OpTimeTableTest, MayBeEmpty) {
  const auto found = table_.OpsOf({}, graph_);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->step, 0u);
  EXPECT_THAT(found->ops, IsEmpty());
  EXPECT_EQ(ReasonOf(table_.OpsOf(1, graph_).status()), "unknown_step");
}

}  // namespace
}  // namespace graphdbg::jobs
