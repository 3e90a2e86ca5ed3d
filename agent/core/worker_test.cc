#include "agent/core/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace graphdbg::agent {
namespace {

constexpr std::chrono::hours kNever(1);

TEST(WorkerTest, WorksWhenWoken) {
  std::promise<void> worked;
  Worker worker(kNever, [&] { worked.set_value(); });
  worker.Start();
  worker.Wake();
  worked.get_future().wait();
}

TEST(WorkerTest, WorksEachPeriod) {
  std::atomic<int> calls{0};
  std::promise<void> twice;
  Worker worker(std::chrono::milliseconds(1), [&] {
    if (++calls == 2) twice.set_value();
  });
  worker.Start();
  twice.get_future().wait();
}

TEST(WorkerTest, DoesNotWorkAfterStop) {
  std::atomic<int> calls{0};
  Worker worker(kNever, [&] { ++calls; });
  worker.Start();
  worker.Stop();
  const int before = calls;
  worker.Wake();
  EXPECT_FALSE(worker.started());
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace graphdbg::agent
