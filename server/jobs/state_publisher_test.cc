#include "server/jobs/state_publisher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/jobs/job_description.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using model::PauseReason;

// A job whose changes go to the publisher.
class StatePublisherTest : public JobFixture {
 protected:
  Rank& ConnectTo(uint32_t number, uint32_t ranks) {
    AgentHello hello;
    hello.rank = number;
    hello.world_size = ranks;
    Rank& rank = job_.OpenStream(hello, std::make_shared<FakeAgentLink>(),
                                 /*same_process=*/false);
    job_.OnConnected(rank);
    return rank;
  }

  void ConnectAndRun(uint32_t ranks) {
    for (uint32_t number = 0; number < ranks; ++number) {
      ConnectTo(number, ranks);
    }
    for (uint32_t number = 0; number < ranks; ++number) Report(number, 1);
    // What waits is published, and the steps are recorded.
    while (!tasks_.FireTimers().empty()) {
    }
    events_seen_.clear();
    records_.lines.clear();
  }

  void Report(uint32_t number, uint64_t step, bool paused = false) {
    RunReport report;
    report.step = step;
    report.paused = paused;
    report.reason = paused ? PauseReason::kStep : PauseReason::kNone;
    job_.OnRunReport(*job_.Find(number), report, "");
  }

  size_t StateEvents() const {
    return EventsOf(model::Event::Type::kState).size();
  }
  size_t Records() const { return records_.lines.size(); }

  JobStateMachine job_{[this](const JobStateMachine::Change& change) {
    publisher_.OnChange(change);
  }};
  bool together_ = true;
  StatePublisher publisher_{
      job_,   recorder_,        events_,
      tasks_, [] { return 1; }, [this] {
                              return together_; }};
};

TEST_F(StatePublisherTest, StepsOfARunningRankAreOneEventAnInterval) {
  ConnectAndRun(1);
  for (uint64_t step = 2; step <= 100; ++step) Report(0, step);
  EXPECT_EQ(StateEvents(), 1u);
  tasks_.FireTimers();
  EXPECT_EQ(StateEvents(), 2u);
}

TEST_F(StatePublisherTest, StepsOfManyRunningRanksAreRecordedSeldom) {
  ConnectAndRun(kFewRanks + 1);
  for (uint64_t step = 2; step <= 100; ++step) Report(0, step);
  EXPECT_EQ(Records(), 0u);
  tasks_.FireTimers();
  EXPECT_EQ(records_.lines, std::vector<std::string>{"state 0 step 100"});
}

TEST_F(StatePublisherTest, AChangeOfFewRanksIsToldAtOnce) {
  ConnectAndRun(2);
  Report(0, 2, /*paused=*/true);
  EXPECT_EQ(StateEvents(), 1u);
  EXPECT_EQ(Records(), 1u);
}

TEST_F(StatePublisherTest, APauseIsToldOnceTheRanksAreTogether) {
  ConnectAndRun(2);
  Report(0, 2, /*paused=*/true);
  Report(1, 3, /*paused=*/true);
  EXPECT_EQ(StateEvents(), 1u) << "only that of rank 0";
  EXPECT_EQ(Records(), 2u);
  publisher_.OnSynchronized();
  EXPECT_EQ(StateEvents(), 2u);
  publisher_.OnSynchronized();
  EXPECT_EQ(StateEvents(), 2u);
}

TEST_F(StatePublisherTest, AJobWhoseRanksMoveOnHasNotPaused) {
  ConnectAndRun(2);
  Report(0, 2, /*paused=*/true);
  Report(1, 3, /*paused=*/true);
  // Rank 0 has been ordered to move on, which it has not reported yet.
  together_ = false;
  publisher_.OnSynchronized();
  tasks_.FireTimers();
  EXPECT_TRUE(publisher_.awaits_ranks());
  EXPECT_EQ(StateEvents(), 1u) << "only the first one";
  Report(0, 3);
  EXPECT_FALSE(publisher_.awaits_ranks());
  EXPECT_EQ(StateEvents(), 2u);
  Report(0, 3, /*paused=*/true);
  EXPECT_EQ(StateEvents(), 2u);
  together_ = true;
  publisher_.OnSynchronized();
  EXPECT_EQ(StateEvents(), 3u);
}

TEST_F(StatePublisherTest, APauseIsToldAfterAnIntervalInAnyCase) {
  ConnectAndRun(2);
  Report(0, 2, /*paused=*/true);
  Report(1, 2, /*paused=*/true);
  tasks_.FireTimers();
  EXPECT_EQ(StateEvents(), 2u);
}

TEST_F(StatePublisherTest, ManyRanksThatPauseAreOneEventAndThatOfTheJob) {
  constexpr uint32_t kRanks = kFewRanks + 1;
  ConnectAndRun(kRanks);
  for (uint32_t number = 0; number + 1 < kRanks; ++number) {
    Report(number, 2, /*paused=*/true);
  }
  EXPECT_EQ(StateEvents(), 0u);
  EXPECT_EQ(Records(), kRanks - 1);
  tasks_.FireTimers();
  EXPECT_EQ(StateEvents(), 1u);
  Report(kRanks - 1, 2, /*paused=*/true);
  publisher_.OnSynchronized();
  EXPECT_EQ(StateEvents(), 2u) << "the job has paused";
}

}  // namespace
}  // namespace graphdbg::jobs
