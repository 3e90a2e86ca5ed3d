#include "agent/core/execution_counter.h"

#include <gtest/gtest.h>

namespace graphdbg::agent {
namespace {

TEST(ExecutionCounterTest, OrderIncludesExecutionsThatAreNotFollowed) {
  ExecutionCounter counter;
  counter.Count();
  EXPECT_EQ(counter.NextOrder(), 1u);
  counter.Count();
  counter.Count();
  counter.Count();
  EXPECT_EQ(counter.NextOrder(), 4u);
}

TEST(ExecutionCounterTest, OrderIncreasesEvenWithoutCounting) {
  ExecutionCounter counter;
  counter.Count();
  EXPECT_EQ(counter.NextOrder(), 1u);
  EXPECT_EQ(counter.NextOrder(), 2u);
  counter.Count();
  EXPECT_EQ(counter.NextOrder(), 3u);
}

TEST(ExecutionCounterTest, OrderRestartsWithEachStep) {
  ExecutionCounter counter;
  EXPECT_EQ(counter.current_step(), 1u);
  counter.Count();
  counter.NextOrder();
  counter.EndStep();
  // The end of the step still belongs to its order.
  EXPECT_EQ(counter.NextOrder(), 2u);
  counter.RestartOrder();
  EXPECT_EQ(counter.NextOrder(), 1u);
  EXPECT_EQ(counter.steps_ended(), 1u);
  EXPECT_EQ(counter.current_step(), 2u);
}

}  // namespace
}  // namespace graphdbg::agent
