#include "server/jobs/rank_group.h"

#include <gtest/gtest.h>

#include <chrono>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using model::ControlVerb;
using model::PauseReason;

class RankGroupTest : public JobFixture {
 protected:
  static model::ControlRequest Request(ControlVerb verb) {
    model::ControlRequest request;
    request.verb = verb;
    return request;
  }

  // Two ranks that the user has continued.
  void RunTwoRanks() {
    for (uint32_t number : {0, 1}) Run(Connect(number, 2), 1);
    group_.RecordIntent(Request(ControlVerb::kContinue));
  }

  std::vector<CommandOrder> CommandsOf(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<CommandOrder>();
  }

  CommandSender sender_{machine_, 0};
  RankGroup group_{machine_, sender_, tasks_, std::chrono::seconds(10)};
};

TEST_F(RankGroupTest, LeavesASingleProcessAlone) {
  Rank& rank = Connect(0);
  PauseAt(rank, 2, PauseReason::kStep);
  group_.Synchronize();
  EXPECT_FALSE(group_.IsForGroup(Request(ControlVerb::kStep)));
  EXPECT_TRUE(group_.unsupported().empty());
  EXPECT_TRUE(CommandsOf(0).empty());
}

TEST_F(RankGroupTest, StopsTheOtherRanksAtTheEndOfTheirStep) {
  RunTwoRanks();
  PauseAt(*machine_.Find(0), 3, PauseReason::kWatchpoint, 1);
  group_.Synchronize();
  ASSERT_EQ(CommandsOf(1).size(), 1u);
  EXPECT_EQ(CommandsOf(1)[0].verb, ControlVerb::kPause);
  EXPECT_TRUE(CommandsOf(1)[0].at_step_end);
  EXPECT_TRUE(CommandsOf(0).empty());
}

TEST_F(RankGroupTest, OrdersThatAreTheSameAreOneCommand) {
  for (uint32_t number : {0, 1, 2}) Run(Connect(number, 3), 1);
  PauseAt(*machine_.Find(0), 3, PauseReason::kWatchpoint, 1);
  group_.Synchronize();
  ASSERT_EQ(CommandsOf(1).size(), 1u);
  ASSERT_EQ(CommandsOf(2).size(), 1u);
  EXPECT_EQ(CommandsOf(1)[0].id, CommandsOf(2)[0].id);
}

// The continue came after a step, and results come before states.
TEST_F(RankGroupTest, ARankThatHasConfirmedAContinueDoesNotStopTheOthers) {
  for (uint32_t number : {0, 1}) {
    PauseAt(Connect(number, 2), 1, PauseReason::kStep);
  }
  const model::ControlRequest request = Request(ControlVerb::kContinue);
  group_.RecordIntent(request);
  CommandOrder order;
  order.id = sender_.Open({0, 1});
  order.verb = ControlVerb::kContinue;
  for (uint32_t number : {0, 1}) sender_.Send(*machine_.Find(number), order);
  Run(*machine_.Find(1), 2);
  sender_.OnOutcome(*machine_.Find(0), {order.id, absl::OkStatus()});
  group_.Synchronize();
  EXPECT_EQ(CommandsOf(1).back().verb, ControlVerb::kContinue);
}

TEST_F(RankGroupTest, MovesARankThatStoppedEarlyToTheCommonStep) {
  RunTwoRanks();
  Rank& early = *machine_.Find(0);
  PauseAt(early, 3, PauseReason::kWatchpoint, 1);
  group_.Synchronize();
  PauseAt(*machine_.Find(1), 3, PauseReason::kUser);
  group_.Synchronize();
  ASSERT_EQ(CommandsOf(0).size(), 1u);
  EXPECT_EQ(CommandsOf(0)[0].verb, ControlVerb::kStep);
  EXPECT_EQ(CommandsOf(0)[0].steps, 1u);
  EXPECT_TRUE(CommandsOf(0)[0].past_hits);
  ASSERT_TRUE(early.original_stop.has_value());
  EXPECT_EQ(early.original_stop->reason, PauseReason::kWatchpoint);
}

TEST_F(RankGroupTest, LeavesRanksAloneThatTheUserMovesOneByOne) {
  RunTwoRanks();
  model::ControlRequest single = Request(ControlVerb::kPause);
  single.rank = 0;
  EXPECT_FALSE(group_.IsForGroup(single));
  group_.RecordIntent(single);
  PauseAt(*machine_.Find(0), 3, PauseReason::kUser);
  group_.Synchronize();
  EXPECT_TRUE(CommandsOf(1).empty());
}

TEST_F(RankGroupTest, RefusesCommandsThatRanksCannotExecuteTogether) {
  RunTwoRanks();
  EXPECT_EQ(ReasonOf(group_.Check(Request(ControlVerb::kNextNode))),
            "several_ranks");
  EXPECT_EQ(group_.unsupported().count(ControlVerb::kContinueTo), 1u);
  PauseAt(*machine_.Find(0), 3, PauseReason::kStep);
  const absl::Status step = group_.Check(Request(ControlVerb::kStep));
  EXPECT_EQ(ReasonOf(step), "invalid_state");
  EXPECT_NE(std::string(step.message()).find("running: 1"), std::string::npos);
}

TEST_F(RankGroupTest, StepsFromTheFurthestRank) {
  RunTwoRanks();
  PauseAt(*machine_.Find(0), 3, PauseReason::kStep);
  PauseAt(*machine_.Find(1), 5, PauseReason::kStep);
  EXPECT_EQ(group_.StepAfter(2), 7u);
}

TEST_F(RankGroupTest, TerminatesRanksOnceTheyHaveStoppedTogether) {
  RunTwoRanks();
  EXPECT_TRUE(group_.TerminateTogether(sender_.Open({0, 1})));
  for (uint32_t number : {0, 1}) {
    EXPECT_EQ(CommandsOf(number).back().verb, ControlVerb::kPause);
    PauseAt(*machine_.Find(number), 3, PauseReason::kUser);
    group_.Synchronize();
  }
  for (uint32_t number : {0, 1}) {
    EXPECT_EQ(CommandsOf(number).back().verb, ControlVerb::kTerminate);
  }
  EXPECT_TRUE(tasks_.FireTimers().empty()) << "the deadline was not cancelled";
}

TEST_F(RankGroupTest, TerminatesRanksAtTheDeadline) {
  RunTwoRanks();
  EXPECT_TRUE(group_.TerminateTogether(sender_.Open({0, 1})));
  EXPECT_EQ(tasks_.FireTimers().size(), 1u);
  EXPECT_EQ(CommandsOf(0).back().verb, ControlVerb::kTerminate);
  EXPECT_EQ(CommandsOf(1).back().verb, ControlVerb::kTerminate);
}

TEST_F(RankGroupTest, TerminatesAtOnceOnTheSecondRequest) {
  RunTwoRanks();
  EXPECT_TRUE(group_.TerminateTogether(sender_.Open({0, 1})));
  EXPECT_FALSE(group_.TerminateTogether(sender_.Open({0, 1})));
  EXPECT_EQ(CommandsOf(0).back().verb, ControlVerb::kTerminate);
}

TEST_F(RankGroupTest, DoesNotWaitForTheOthersWhereARankHasFailed) {
  RunTwoRanks();
  PauseAt(*machine_.Find(1), 3, PauseReason::kError);
  EXPECT_FALSE(group_.TerminateTogether(sender_.Open({0, 1})));
}

TEST_F(RankGroupTest, DoesNotDelayTheEndOfRanksThatHaveStopped) {
  RunTwoRanks();
  for (uint32_t number : {0, 1}) {
    PauseAt(*machine_.Find(number), 3, PauseReason::kStep);
  }
  EXPECT_FALSE(group_.TerminateTogether(sender_.Open({0, 1})));
}

}  // namespace
}  // namespace graphdbg::jobs
