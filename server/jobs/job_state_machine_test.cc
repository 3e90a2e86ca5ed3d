#include "server/jobs/job_state_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using model::JobState;
using model::PauseReason;
using ::testing::ElementsAre;

class JobStateMachineTest : public JobFixture {
 protected:
  static CommandOrder Command(model::ControlVerb verb, uint64_t steps = 1) {
    CommandOrder order;
    order.id = 9;
    order.verb = verb;
    order.steps = steps;
    return order;
  }
};

TEST_F(JobStateMachineTest, FollowsARankThroughItsLife) {
  Rank& rank = Connect(0);
  PauseAt(rank, 0, PauseReason::kStart);
  Run(rank, 1);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kPause));
  PauseAt(rank, 3, PauseReason::kUser);
  ExitReport exit;
  exit.steps = 3;
  machine_.OnExit(rank, exit);
  machine_.OnDisconnected(rank);
  EXPECT_THAT(
      changes_,
      ElementsAre("0 connecting -> connecting", "0 connecting -> paused",
                  "0 paused -> running", "0 running -> pausing",
                  "0 pausing -> paused", "0 paused -> finished"));
  EXPECT_EQ(machine_.job().state, JobState::kFinished);
}

TEST_F(JobStateMachineTest, DoesNotAnnounceAnUnchangedState) {
  Rank& rank = Connect(0);
  Run(rank, 2);
  changes_.clear();
  Run(rank, 2);
  EXPECT_TRUE(changes_.empty());
  Run(rank, 3);
  EXPECT_EQ(changes_.size(), 1u);
}

TEST_F(JobStateMachineTest, CombinesTheStatesOfAllRanks) {
  Rank& first = Connect(0, 2);
  Rank& second = Connect(1, 2);
  EXPECT_TRUE(machine_.has_several_ranks());
  PauseAt(first, 4, PauseReason::kStep);
  EXPECT_EQ(machine_.job().state, JobState::kConnecting);
  PauseAt(second, 4, PauseReason::kWatchpoint, 1);
  EXPECT_EQ(machine_.job().state, JobState::kPaused);
  EXPECT_EQ(machine_.job().reason, PauseReason::kWatchpoint);
}

TEST_F(JobStateMachineTest, ANewProcessCountsBeforeItIsAnnounced) {
  PauseAt(Connect(0, 2), 4, PauseReason::kStep);
  ASSERT_EQ(machine_.job().state, JobState::kPaused);
  AgentHello hello;
  hello.rank = 1;
  hello.world_size = 2;
  Rank& second =
      machine_.OpenStream(hello, std::make_shared<FakeAgentLink>(), false);
  EXPECT_EQ(machine_.job().state, JobState::kConnecting);
  changes_.clear();
  machine_.OnConnected(second);
  EXPECT_THAT(changes_, ElementsAre("1 connecting -> connecting"));
}

TEST_F(JobStateMachineTest, APauseStaysPendingUntilItIsAnswered) {
  Rank& rank = Connect(0);
  Run(rank, 1);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kPause));
  // The agent had sent this before it received the pause.
  Run(rank, 2);
  EXPECT_EQ(rank.run.state, JobState::kPausing);
  machine_.OnCommandOutcome(rank, {9, absl::InternalError("cannot pause")});
  EXPECT_EQ(rank.run.state, JobState::kRunning);
}

TEST_F(JobStateMachineTest, TheRefusalOfAnotherCommandEndsNoPause) {
  Rank& rank = Connect(0);
  Run(rank, 1);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kPause));
  machine_.OnCommandOutcome(rank, {8, absl::InternalError("cannot recheck")});
  EXPECT_EQ(rank.run.state, JobState::kPausing);
}

TEST_F(JobStateMachineTest, RemembersTheCommandThatResumesARank) {
  Rank& rank = Connect(0);
  PauseAt(rank, 2, PauseReason::kStep);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kStep, 3));
  EXPECT_EQ(rank.resuming_command, 9u);
  EXPECT_EQ(rank.stops_after, 5u);
  Run(rank, 3);
  EXPECT_EQ(rank.resuming_command, 0u);
  EXPECT_EQ(rank.times_resumed, 1u);
}

// The result of a command may arrive before the state that shows its effect.
TEST_F(JobStateMachineTest, OneOfSeveralRanksResumesWithAStateNotWithAResult) {
  Rank& rank = Connect(0, 2);
  PauseAt(rank, 2, PauseReason::kStep);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kContinue));
  machine_.OnCommandOutcome(rank, {9, absl::OkStatus()});
  EXPECT_EQ(rank.resuming_command, 9u);
  Run(rank, 3);
  EXPECT_EQ(rank.resuming_command, 0u);
}

TEST_F(JobStateMachineTest, AStopAfterTheResultEndsTheResumption) {
  Rank& rank = Connect(0, 2);
  PauseAt(rank, 2, PauseReason::kStep);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kStep));
  // It had stopped before it received the command.
  PauseAt(rank, 2, PauseReason::kUser);
  EXPECT_EQ(rank.resuming_command, 9u);
  machine_.OnCommandOutcome(rank, {9, absl::OkStatus()});
  PauseAt(rank, 3, PauseReason::kStep);
  EXPECT_EQ(rank.resuming_command, 0u);
}

TEST_F(JobStateMachineTest, ARefusedCommandResumesNothing) {
  Rank& rank = Connect(0);
  PauseAt(rank, 2, PauseReason::kStep);
  machine_.OnCommandSent(rank, Command(model::ControlVerb::kContinue));
  machine_.OnCommandOutcome(rank, {9, absl::InternalError("")});
  EXPECT_EQ(rank.resuming_command, 0u);
  EXPECT_EQ(rank.run.state, JobState::kPaused);
}

TEST_F(JobStateMachineTest, ShowsTheOriginalStopOfARankThatWasMovedOn) {
  Rank& rank = Connect(0, 2);
  PauseAt(rank, 2, PauseReason::kWatchpoint, 1);
  EXPECT_EQ(rank.steps_ended, 1u);
  rank.original_stop = rank.run;
  Run(rank, 2);
  PauseAt(rank, 2, PauseReason::kStep);
  EXPECT_EQ(rank.run.reason, PauseReason::kWatchpoint);
  EXPECT_EQ(rank.run.node, "node");
  EXPECT_EQ(rank.steps_ended, 2u);
  EXPECT_FALSE(rank.original_stop.has_value());
}

TEST_F(JobStateMachineTest, ARankThatDisconnectsIsLostUnlessItWasTerminated) {
  Rank& lost = Connect(0);
  machine_.OnDisconnected(lost);
  EXPECT_EQ(lost.run.state, JobState::kLost);

  Rank& terminated = Connect(1);
  machine_.OnCommandSent(terminated, Command(model::ControlVerb::kTerminate));
  machine_.OnDisconnected(terminated);
  EXPECT_EQ(terminated.run.state, JobState::kTerminated);
}

TEST_F(JobStateMachineTest, ANewProcessStartsWithoutTheDataOfTheOldOne) {
  Rank& rank = Connect(0);
  rank.last_hit = 7;
  const uint64_t stream = rank.stream;
  machine_.OnDisconnected(rank);
  machine_.OpenStream(AgentHello(rank.hello), std::make_shared<FakeAgentLink>(),
                      true);
  EXPECT_EQ(rank.last_hit, 7u);
  machine_.OpenStream(AgentHello(rank.hello), std::make_shared<FakeAgentLink>(),
                      false);
  EXPECT_EQ(rank.last_hit, 0u);
  EXPECT_EQ(rank.stream, stream + 2);
}

TEST_F(JobStateMachineTest, AwaitsRestoredRanksThatWereAlive) {
  std::map<uint32_t, SavedRank> saved;
  saved[0].run.state = JobState::kRunning;
  saved[0].run.step = 5;
  saved[1].run.state = JobState::kFinished;
  machine_.Restore(std::move(saved));
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(machine_.job().state, JobState::kConnecting);
  EXPECT_EQ(machine_.job().step, 5u);
  EXPECT_TRUE(machine_.awaits_ranks());
  machine_.LoseAwaitedRanks();
  EXPECT_FALSE(machine_.awaits_ranks());
  EXPECT_EQ(machine_.Find(0)->run.state, JobState::kLost);
  EXPECT_EQ(machine_.Find(1)->run.state, JobState::kFinished);
}

TEST_F(JobStateMachineTest, ARestoredJobWithoutRanksIsLost) {
  machine_.Restore({});
  EXPECT_EQ(machine_.job().state, JobState::kLost);
}

TEST_F(JobStateMachineTest, NamesUnknownRanks) {
  EXPECT_EQ(machine_.Find(3), nullptr);
  EXPECT_EQ(ReasonOf(machine_.CheckRank(3)), "unknown_rank");
  Connect(3);
  EXPECT_TRUE(machine_.CheckRank(3).ok());
  EXPECT_EQ(machine_.first_rank(), 3u);
}

}  // namespace
}  // namespace graphdbg::jobs
