#include "server/jobs/command_sender.h"

#include <gtest/gtest.h>

#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class CommandSenderTest : public JobFixture {
 protected:
  CommandSender sender_{machine_, 100};
};

TEST_F(CommandSenderTest, SendsACommandAndReportsItsResult) {
  Rank& rank = Connect(0);
  Run(rank, 1);
  CommandOrder order;
  order.id = sender_.Open({0});
  order.verb = model::ControlVerb::kPause;
  EXPECT_EQ(order.id, 101u);
  sender_.Send(rank, order);
  EXPECT_EQ(LinkOf(0)->OrdersOf<CommandOrder>().size(), 1u);
  EXPECT_EQ(rank.run.state, model::JobState::kPausing);
  const auto result = sender_.OnOutcome(rank, {order.id, absl::OkStatus()});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, "");
}

TEST_F(CommandSenderTest, ARefusalWithoutAReasonIsStillARefusal) {
  Rank& rank = Connect(0);
  const uint64_t id = sender_.Open({0});
  EXPECT_EQ(sender_.OnOutcome(rank, {id, absl::InternalError("")})->error,
            "rank 0: refused");
}

TEST_F(CommandSenderTest, CompletesTheCommandsOfARankThatIsGone) {
  Rank& rank = Connect(0);
  PauseAt(rank, 1, model::PauseReason::kStep);
  CommandOrder order;
  order.id = sender_.Open({0});
  sender_.Send(rank, order);
  EXPECT_EQ(rank.resuming_command, order.id);
  const auto results = sender_.Abandon(rank, "gone");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].error, "rank 0: gone");
  EXPECT_EQ(rank.resuming_command, 0u);
}

}  // namespace
}  // namespace graphdbg::jobs
